/*
 * empty.c - enables events and does nothing in its handler: what is measured is all the rest.
 *
 * Options: events=1+3    those that are enabled in JVM_OnLoad
 */
#include "agent.h"

static void notify(JVMPI_Event *e)
{
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    const char *list;

    agent_start(vm, options, notify);
    for (list = option("events", ""); *list != '\0'; list += strspn(list, "+"))
        enable((jint)strtol(list, (char **)&list, 10));
    return JNI_OK;
}
