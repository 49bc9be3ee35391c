/*
 * system_thread.c - threads made by CreateSystemThread: their times and kinds, and that they do
 * not keep the JVM from ending.
 */
#include "call.h"

static JVMPI_RawMonitor lock;
static int finished;

/* Reports the thread as Java sees it: the calls fail only if the JVM is broken. */
static void describe(JNIEnv *env, void *argument)
{
    jclass type = (*env)->FindClass(env, "SystemThreads");
    jmethodID describe = (*env)->GetStaticMethodID(env, type, "describe", "()Ljava/lang/String;");
    jstring string = (*env)->CallStaticObjectMethod(env, type, describe);
    const char *chars;

    if ((*env)->ExceptionCheck(env) || string == NULL)
        return;
    chars = (*env)->GetStringUTFChars(env, string, NULL);
    report("system_thread env=%#lx null=%d %s", ID(env), argument == NULL, chars);
    (*env)->ReleaseStringUTFChars(env, string, chars);
}

static void run(void *argument)
{
    describe(current_env(), argument);
    jvmpi->RawMonitorEnter(lock);
    finished++;
    jvmpi->RawMonitorExit(lock);
}

static void never_return(void *argument)
{
    report("endless env=%#lx", ID(current_env()));
    jvmpi->RawMonitorEnter(lock);
    for (;;)
        jvmpi->RawMonitorWait(lock, 0);
}

static void create(const char *name, jint priority, void (*function)(void *))
{
    char buffer[64];

    snprintf(buffer, sizeof buffer, "%s%d", name, (int)priority);
    report("created name=%s result=%d", q(buffer), (int)jvmpi->CreateSystemThread(buffer, priority, function));
    memset(buffer, '?', sizeof buffer - 1);
}

static void notify(JVMPI_Event *e)
{
    switch (e->event_type) {
    case JVMPI_EVENT_THREAD_START:
        report("thread_start env=%#lx thread_env=%#lx name=%s", ID(e->env_id),
               ID(e->u.thread_start.thread_env_id), q(e->u.thread_start.thread_name));
        break;
    case JVMPI_EVENT_THREAD_END:
        report("thread_end env=%#lx", ID(e->env_id));
        break;
    case JVMPI_EVENT_JVM_INIT_DONE:
        create("endless-", JVMPI_MAXIMUM_PRIORITY, never_return);
        create("priority-", 0, run);
        create("priority-", JVMPI_MINIMUM_PRIORITY, run);
        create("priority-", JVMPI_NORMAL_PRIORITY, run);
        create("priority-", JVMPI_MAXIMUM_PRIORITY, run);
        create("priority-", 99, run);
        create("größe-", JVMPI_NORMAL_PRIORITY, run);
        break;
    }
}

/* Waits until the threads that return have done so. */
static jlong called(JNIEnv *env, const char *what, jobject object)
{
    CHECK("finished", WAIT_UNTIL(__atomic_load_n(&finished, __ATOMIC_RELAXED) == 6));
    return 0;
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    agent_start(vm, options, notify);
    lock = jvmpi->RawMonitorCreate("_system_thread");
    report("too_early result=%d", (int)jvmpi->CreateSystemThread("early", JVMPI_NORMAL_PRIORITY, run));
    enable(JVMPI_EVENT_THREAD_START);
    enable(JVMPI_EVENT_THREAD_END);
    enable(JVMPI_EVENT_JVM_INIT_DONE);
    return JNI_OK;
}
