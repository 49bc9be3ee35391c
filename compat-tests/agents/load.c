/*
 * load.c - what an agent is given: its options, the interface in all versions, from every place it
 * can be asked for.
 */
#include <pthread.h>
#include <stddef.h>

#include "agent.h"

static int on_load_calls;

/* Asks for one version and reports the answer; where is the place that asks. */
static void ask(const char *where, JavaVM *vm, jint version)
{
    JVMPI_Interface *found = (JVMPI_Interface *)&found;
    jint result = (*vm)->GetEnv(vm, (void **)&found, version);

    report("get_env where=%s version=%#lx result=%d null=%d same=%d table=%#lx", where,
           (unsigned long)version, (int)result, found == NULL, found == jvmpi,
           result == JNI_OK ? (unsigned long)found->version : 0);
}

static void ask_all(const char *where, JavaVM *vm)
{
    ask(where, vm, JVMPI_VERSION_1);
    ask(where, vm, JVMPI_VERSION_1_1);
    ask(where, vm, JVMPI_VERSION_1_2);
    ask(where, vm, 0x10000000);
    ask(where, vm, 0x10000004);
}

/* JNI's and JVMTI's versions get the JVM's own answers. */
static void ask_others(const char *where, JavaVM *vm)
{
    static const jint versions[] = { JNI_VERSION_1_2, JNI_VERSION_1_8, 0x30010200, 0x30060000 };
    size_t i;

    for (i = 0; i < sizeof versions / sizeof *versions; i++) {
        void *found = NULL;
        jint result = (*vm)->GetEnv(vm, &found, versions[i]);
        report("other where=%s version=%#lx result=%d env=%#lx", where, (unsigned long)versions[i],
               (int)result, ID(found));
    }
}

static void *not_attached(void *argument)
{
    JavaVM *vm = argument;
    void *found = NULL;

    ask_all("not_attached", vm);
    report("not_attached result=%d", (int)(*vm)->GetEnv(vm, &found, JNI_VERSION_1_2));
    return NULL;
}

/* Every function of the table is there. */
static void report_table(void)
{
    size_t n = (sizeof *jvmpi - offsetof(JVMPI_Interface, NotifyEvent)) / sizeof(void *);
    size_t i, filled = 0;
    void *functions[sizeof *jvmpi / sizeof(void *)];

    memcpy(functions, (char *)jvmpi + offsetof(JVMPI_Interface, NotifyEvent), n * sizeof(void *));
    for (i = 0; i < n; i++)
        filled += functions[i] != NULL;
    report("table functions=%d filled=%d", (int)n, (int)filled);
}

static void notify(JVMPI_Event *e)
{
    JavaVM *vm = NULL;
    pthread_t thread;

    if (e->event_type != JVMPI_EVENT_JVM_INIT_DONE)
        return;
    report("jvm_init_done env=%#lx", ID(e->env_id));
    ask_all("init_done", agent_vm);
    ask_others("init_done", agent_vm);
    (*e->env_id)->GetJavaVM(e->env_id, &vm);
    ask_all("get_java_vm", vm);
    if (pthread_create(&thread, NULL, not_attached, agent_vm) == 0)
        pthread_join(thread, NULL);
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    char hex[12001] = "";
    JNIEnv *env;
    size_t i, n = options != NULL ? strlen(options) : 0;

    agent_start(vm, options, notify);
    for (i = 0; i < n && i < sizeof hex / 2 - 1; i++)
        sprintf(hex + 2 * i, "%02x", (unsigned char)options[i]);
    report("on_load call=%d null=%d options=\"%s\" reserved_null=%d", ++on_load_calls,
           options == NULL, hex, reserved == NULL);
    env = current_env();
    report("jni works=%d", env != NULL && (*env)->FindClass(env, "java/lang/Object") != NULL);
    report_table();
    ask_all("on_load", vm);
    enable(JVMPI_EVENT_JVM_INIT_DONE);
    return JNI_OK;
}

JNIEXPORT void JNICALL JVM_OnUnload(JavaVM *vm)
{
    report("on_unload same=%d", vm == agent_vm);
}
