/*
 * tail_call.c - an agent with a JVM_OnLoad that ends with its call of GetEnv, so that GetEnv returns to
 * the caller of JVM_OnLoad. It never stores a handler for its events.
 */
#include "call.h"

static jlong called(JNIEnv *env, const char *what, jobject object)
{
    JVMPI_Interface *again = NULL;

    CHECK("asked again", (*agent_vm)->GetEnv(agent_vm, (void **)&again, JVMPI_VERSION_1) == JNI_OK);
    CHECK("the same table", again != NULL && again == jvmpi);
    CHECK("it works", jvmpi->EnableEvent(JVMPI_EVENT_JVM_SHUT_DOWN, NULL) == JVMPI_SUCCESS);
    return 0;
}

__attribute__((optimize("O2")))
JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    open_report(options);
    agent_vm = vm;
    return (*vm)->GetEnv(vm, (void **)&jvmpi, JVMPI_VERSION_1);
}
