/*
 * toggled_in_hook.c - switches METHOD_ENTRY off and on in the handlers of CLASS_LOAD_HOOK, the first ones of which come
 * while the shim reads the files of loaded classes.
 */
#include "agent.h"

enum { TIMES = 6 };

static long hooks, entries;

static void hook(JVMPI_Event *e)
{
    e->u.class_load_hook.new_class_data = e->u.class_load_hook.class_data;
    e->u.class_load_hook.new_class_data_len = e->u.class_load_hook.class_data_len;
    if (__atomic_add_fetch(&hooks, 1, __ATOMIC_SEQ_CST) <= TIMES) {
        CHECK("off", jvmpi->DisableEvent(JVMPI_EVENT_METHOD_ENTRY, NULL) == JVMPI_SUCCESS);
        CHECK("on", jvmpi->EnableEvent(JVMPI_EVENT_METHOD_ENTRY, NULL) == JVMPI_SUCCESS);
    }
}

static void notify(JVMPI_Event *e)
{
    if (e->event_type == JVMPI_EVENT_CLASS_LOAD_HOOK)
        hook(e);
    else if (e->event_type == JVMPI_EVENT_METHOD_ENTRY)
        __atomic_add_fetch(&entries, 1, __ATOMIC_SEQ_CST);
    else
        report("end hooks=%ld entries=%ld", hooks, entries);
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    agent_start(vm, options, notify);
    enable(JVMPI_EVENT_CLASS_LOAD_HOOK);
    enable(JVMPI_EVENT_METHOD_ENTRY);
    enable(JVMPI_EVENT_JVM_SHUT_DOWN);
    return JNI_OK;
}
