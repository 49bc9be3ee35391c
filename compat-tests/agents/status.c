/*
 * status.c - the result of GetThreadStatus for the thread named by the program.
 */
#include "call.h"
#include "threads.h"

static void notify(JVMPI_Event *e)
{
    track_threads(e);
}

static jlong called(JNIEnv *env, const char *what, jobject object)
{
    JNIEnv *thread = strcmp(what, "self") == 0 ? env : thread_named(what).env;

    return thread != NULL ? jvmpi->GetThreadStatus(thread) : -1;
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    agent_start(vm, options, notify);
    enable(JVMPI_EVENT_THREAD_START);
    enable(JVMPI_EVENT_THREAD_END);
    return JNI_OK;
}
