/*
 * utility.c - a native library that is no agent, and uses the interface for itself.
 */
#include "agent.h"

JNIEXPORT jboolean JNICALL Java_Utility_use(JNIEnv *env, jclass type)
{
    JVMPI_Interface *first = NULL, *second = NULL;
    JavaVM *vm = NULL;
    jlong before;

    open_report(NULL);
    if ((*env)->GetJavaVM(env, &vm) != JNI_OK)
        return JNI_FALSE;
    CHECK("version 1", (*vm)->GetEnv(vm, (void **)&first, JVMPI_VERSION_1) == JNI_OK);
    CHECK("version 1.2", (*vm)->GetEnv(vm, (void **)&second, JVMPI_VERSION_1_2) == JNI_OK);
    CHECK("same table", first != NULL && first == second);
    if (first == NULL)
        return JNI_FALSE;
    first->DisableGC();
    before = first->GetCurrentThreadCpuTime();
    first->EnableGC();
    CHECK("time", before > 0 && first->GetCurrentThreadCpuTime() >= before);
    return JNI_TRUE;
}
