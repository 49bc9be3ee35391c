/*
 * exit.c - ends the process from many places.
 * Options: mode=init_done, class_load, shut_down or java_thread; code=N
 */
#include "call.h"

static void leave(void)
{
    JVMPI_RawMonitor lock = jvmpi->RawMonitorCreate("_exit");

    report("leaving");
    jvmpi->RawMonitorEnter(lock);
    jvmpi->DisableGC();
    jvmpi->ProfilerExit(atoi(option("code", "3")));
    report("came_back");
}

static jlong called(JNIEnv *env, const char *what, jobject object)
{
    if (mode_is("java_thread"))
        leave();
    return 0;
}

static void notify(JVMPI_Event *e)
{
    report("event type=%d", (int)e->event_type);
    if ((e->event_type == JVMPI_EVENT_JVM_INIT_DONE && mode_is("init_done"))
        || (e->event_type == JVMPI_EVENT_CLASS_LOAD && mode_is("class_load"))
        || (e->event_type == JVMPI_EVENT_JVM_SHUT_DOWN && mode_is("shut_down")))
        leave();
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    agent_start(vm, options, notify);
    enable(JVMPI_EVENT_JVM_INIT_DONE);
    enable(JVMPI_EVENT_JVM_SHUT_DOWN);
    enable(JVMPI_EVENT_THREAD_END);
    if (mode_is("class_load"))
        enable(JVMPI_EVENT_CLASS_LOAD);
    return JNI_OK;
}
