/*
 * cpu_time.c - GetCurrentThreadCpuTime, of threads that the program makes.
 */
#include "call.h"

static jlong called(JNIEnv *env, const char *what, jobject object)
{
    return jvmpi->GetCurrentThreadCpuTime();
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    agent_start(vm, options, NULL);
    CHECK("in JVM_OnLoad", jvmpi->GetCurrentThreadCpuTime() > 0);
    return JNI_OK;
}
