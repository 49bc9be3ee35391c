/*
 * handler.c - when NotifyEvent is set. Options: mode=never or replaced.
 */
#include "agent.h"

static void second(JVMPI_Event *e)
{
    report("second type=%d", (int)e->event_type);
}

static void first(JVMPI_Event *e)
{
    report("first type=%d", (int)e->event_type);
    jvmpi->NotifyEvent = second;
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    open_report(options);
    if ((*vm)->GetEnv(vm, (void **)&jvmpi, JVMPI_VERSION_1) != JNI_OK)
        return JNI_ERR;
    if (mode_is("never"))
        jvmpi->NotifyEvent = NULL;
    enable(JVMPI_EVENT_JVM_INIT_DONE);
    enable(JVMPI_EVENT_JVM_SHUT_DOWN);
    if (!mode_is("never"))
        jvmpi->NotifyEvent = first;
    return JNI_OK;
}
