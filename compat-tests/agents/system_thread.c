/*
 * system_thread.c - a thread of the agent's, and the number of collections.
 *
 * Commands: "start" the thread, which runs a Runnable of the program's; "collections": the number so far.
 */
#include "call.h"

static JVMPI_RawMonitor lock;
static volatile int has_run, collections;
static jobject runnable;

static void notify(JVMPI_Event *e)
{
    if (e->event_type == JVMPI_EVENT_GC_START)
        collections++;
}

/* Runs until the VM ends. */
static void run(void *unused)
{
    JNIEnv *env = current_env();
    jclass type = (*env)->GetObjectClass(env, runnable);

    (*env)->CallVoidMethod(env, runnable, (*env)->GetMethodID(env, type, "run", "()V"));
    jvmpi->RawMonitorEnter(lock);
    has_run = 1;
    jvmpi->RawMonitorNotifyAll(lock);
    for (;;)
        jvmpi->RawMonitorWait(lock, 0);
}

static jlong called(JNIEnv *env, const char *what, jobject object)
{
    jint result;

    if (strcmp(what, "collections") == 0)
        return collections;
    if (strcmp(what, "start") != 0)
        return 0;
    runnable = (*env)->NewGlobalRef(env, object);
    jvmpi->RawMonitorEnter(lock);
    result = jvmpi->CreateSystemThread("agents", JVMPI_MINIMUM_PRIORITY, run);
    while (result == JNI_OK && !has_run)
        jvmpi->RawMonitorWait(lock, 0);
    jvmpi->RawMonitorExit(lock);
    return result == JNI_OK;
}

ON_LOAD(notify)
{
    lock = jvmpi->RawMonitorCreate("_system_thread");
    ENABLE(JVMPI_EVENT_GC_START, JVMPI_EVENT_OBJECT_FREE);
}
