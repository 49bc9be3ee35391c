/*
 * hold.c - disables collections and looks at what the VM does meanwhile.
 */
#include <dirent.h>

#include "call.h"

/* Before an array's elements lie three words, or less where references are compressed. */
enum { HEADER = 3 * sizeof(void *), COMPRESSED_HEADER = 16, FIRST = 1, WRITTEN = 7 };

static JVMPI_RawMonitor monitor;
static volatile int may_churn, churned, owns_monitor, has_enabled;
static int brackets, shown;

static int count(const int *counter)
{
    return __atomic_load_n(counter, __ATOMIC_SEQ_CST);
}

/* Calls a method of the program's. */
static jlong java(JNIEnv *env, const char *method)
{
    jclass type = (*env)->FindClass(env, "Holding");
    jmethodID id = (*env)->GetStaticMethodID(env, type, method, "()J");
    jlong result = (*env)->CallStaticLongMethod(env, type, id);

    CHECK("no exception", !(*env)->ExceptionCheck(env));
    (*env)->DeleteLocalRef(env, type);
    return result;
}

/* The collections that the VM has counted. */
static jlong collections(JNIEnv *env)
{
    return java(env, "collections");
}

static void notify(JVMPI_Event *e)
{
    switch (e->event_type) {
    case JVMPI_EVENT_GC_START:
        __atomic_add_fetch(&brackets, 1, __ATOMIC_SEQ_CST);
        break;
    case JVMPI_EVENT_THREAD_START:
        if (strcmp(e->u.thread_start.thread_name, "jvmpi") == 0)
            __atomic_add_fetch(&shown, 1, __ATOMIC_SEQ_CST);
        break;
    }
}

static void enable_elsewhere(void *unused)
{
    jvmpi->EnableGC();
    has_enabled = 1;
}

/* Longer than the shim takes to give up the hold where it has to. If it is not, less is tested. */
static void wait_long(void)
{
    sleep_ms(400);
}

/* Another thread needs more memory than there is, and collections are disabled twice. */
static void hold(JNIEnv *env, jobject array)
{
    unsigned char *elements;
    jlong before;
    int told, i;

    /* ZGC begins cycles by itself until there have been three; one that has begun goes on to the end of marking. */
    for (i = 0; i < 4; i++)
        jvmpi->RunGC();
    jvmpi->DisableGC();
    jvmpi->DisableGC();
    /* What a reference refers to, as agents of old took it. */
    elements = *(unsigned char **)array + HEADER;
    if (*elements != FIRST)
        elements += COMPRESSED_HEADER - HEADER;
    CHECK("the first element", *elements == FIRST);
    before = collections(env);
    told = count(&brackets);
    may_churn = 1;
    wait_long();
    jvmpi->EnableGC();
    java(env, "compute");
    report("held collections=%ld brackets=%d churned=%d", (long)(collections(env) - before),
           count(&brackets) - told, churned);
    if (collections(env) == before)
        *elements = WRITTEN;
    CHECK("thread", jvmpi->CreateSystemThread("enables", JVMPI_NORMAL_PRIORITY, enable_elsewhere) == JNI_OK);
    CHECK("EnableGC of another thread", WAIT_UNTIL(has_enabled));
    CHECK("collections come again", WAIT_UNTIL(collections(env) > before));
    CHECK("and are told", WAIT_UNTIL(count(&brackets) > told));
}

/* Makes more garbage than there is memory; returns how many arrays. */
static jlong allocate(JNIEnv *env)
{
    jlong made = 0;
    int i;

    for (i = 0; i < 2000; i++) {
        jbyteArray array = (*env)->NewByteArray(env, 100000);
        made += array != NULL;
        (*env)->DeleteLocalRef(env, array);
    }
    return made;
}

/* How many threads of the process have the name of the shim's. */
static int own_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *task;
    int n = 0;

    while ((task = readdir(tasks)) != NULL) {
        char path[300], name[32] = "";
        FILE *file;
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
        if ((file = fopen(path, "r")) == NULL)
            continue;
        n += fgets(name, sizeof name, file) != NULL && strcmp(name, "jvmpi\n") == 0;
        fclose(file);
    }
    closedir(tasks);
    return n;
}

static jlong called(JNIEnv *env, const char *what, jobject object)
{
    jlong result = 0;

    if (strcmp(what, "may_churn") == 0)
        return may_churn;
    if (strcmp(what, "churned") == 0)
        churned = 1;
    else if (strcmp(what, "hold") == 0)
        hold(env, object);
    else if (strcmp(what, "disable") == 0)
        jvmpi->DisableGC();
    else if (strcmp(what, "enable") == 0)
        jvmpi->EnableGC();
    else if (strcmp(what, "shown") == 0)
        return count(&shown);
    else if (strcmp(what, "allocate") == 0) {
        jvmpi->DisableGC();
        result = allocate(env);
        jvmpi->EnableGC();
    } else if (strcmp(what, "java") == 0) {
        jvmpi->DisableGC();
        result = java(env, "churn");
        jvmpi->EnableGC();
    } else if (strcmp(what, "critical") == 0) {
        void *elements;
        jvmpi->DisableGC();
        may_churn = 1;
        wait_long();
        elements = (*env)->GetPrimitiveArrayCritical(env, object, NULL);
        result = elements != NULL;
        (*env)->ReleasePrimitiveArrayCritical(env, object, elements, JNI_ABORT);
        jvmpi->EnableGC();
    } else if (strcmp(what, "own") == 0) {
        jvmpi->RawMonitorEnter(monitor);
        owns_monitor = 1;
        WAIT_UNTIL(may_churn);
        result = allocate(env);
        jvmpi->RawMonitorExit(monitor);
    } else if (strcmp(what, "monitor") == 0) {
        result = WAIT_UNTIL(owns_monitor);
        jvmpi->DisableGC();
        may_churn = 1;
        jvmpi->RawMonitorEnter(monitor);
        jvmpi->RawMonitorExit(monitor);
        jvmpi->EnableGC();
    } else if (strcmp(what, "threads") == 0)
        result = own_threads();
    else if (strcmp(what, "again") == 0)
        may_churn = churned = 0;
    return result;
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    agent_start(vm, options, notify);
    monitor = jvmpi->RawMonitorCreate("_hold");
    enable(JVMPI_EVENT_GC_START);
    enable(JVMPI_EVENT_THREAD_START);
    return JNI_OK;
}
