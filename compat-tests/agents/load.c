/*
 * load.c - what an agent is given in each way of loading it: its options, and the interface also on a thread that the
 * VM does not know.
 */
#include <pthread.h>

#include "agent.h"

static void *not_attached(void *unused)
{
    JVMPI_Interface *found = NULL;

    CHECK("not attached", (*agent_vm)->GetEnv(agent_vm, (void **)&found, JVMPI_VERSION_1) == JNI_OK && found == jvmpi
          && (*agent_vm)->GetEnv(agent_vm, (void **)&found, JNI_VERSION_1_2) == JNI_EDETACHED);
    return NULL;
}

static void notify(JVMPI_Event *e)
{
    pthread_t thread;

    report("jvm_init_done");
    if (pthread_create(&thread, NULL, not_attached, NULL) == 0)
        pthread_join(thread, NULL);
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    char hex[12001] = "";
    size_t i, n = options != NULL ? strlen(options) : 0;

    agent_start(vm, options, notify);
    for (i = 0; i < n && i < sizeof hex / 2 - 1; i++)
        sprintf(hex + 2 * i, "%02x", (unsigned char)options[i]);
    report("on_load null=%d options=\"%s\"", options == NULL, hex);
    CHECK("jni", (*current_env())->FindClass(current_env(), "java/lang/Object") != NULL);
    enable(JVMPI_EVENT_JVM_INIT_DONE);
    return JNI_OK;
}

JNIEXPORT void JNICALL JVM_OnUnload(JavaVM *vm)
{
    report("on_unload same=%d", vm == agent_vm);
}
