/*
 * control.c - a native library of the program that asks for the interface to control the agent. It is no agent
 * itself.
 */
#include "agent.h"

JNIEXPORT jint JNICALL Java_Control_enable(JNIEnv *env, jclass type, jint event)
{
    JVMPI_Interface *interface;
    JavaVM *vm;

    if ((*env)->GetJavaVM(env, &vm) != JNI_OK
        || (*vm)->GetEnv(vm, (void **)&interface, JVMPI_VERSION_1) != JNI_OK)
        return JVMPI_FAIL;
    return interface->EnableEvent(event, NULL);
}

/* The call of GetEnv is the last thing that the function does: it returns to the VM. On i386 that needs as much
   room for arguments as GetEnv has. */
__attribute__((optimize("O2")))
JNIEXPORT jint JNICALL Java_Control_get(JNIEnv *env, jclass type, jint room)
{
    static JVMPI_Interface *interface;
    static JavaVM *vm;

    if ((*env)->GetJavaVM(env, &vm) != JNI_OK)
        return JVMPI_FAIL;
    return (*vm)->GetEnv(vm, (void **)&interface, JVMPI_VERSION_1);
}
