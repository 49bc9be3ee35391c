/*
 * holder.c - no agent of JVMPI but one of JVMTI, as a debugger is: it holds capabilities that only one
 * agent of a process can have, and ends the JVM if it does not get them.
 *
 * Options: suspend, sampled.
 */
#include <jvmti.h>
#include <stdio.h>
#include <string.h>

#include "jvmpi.h"

static jint hold(JavaVM *vm, const char *options)
{
    jvmtiCapabilities wanted;
    jvmtiEnv *jvmti;
    jvmtiError error;

    memset(&wanted, 0, sizeof wanted);
    wanted.can_suspend = strstr(options, "suspend") != NULL;
    wanted.can_generate_sampled_object_alloc_events = strstr(options, "sampled") != NULL;
    if ((*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_11) != JNI_OK)
        return JNI_ERR;
    error = (*jvmti)->AddCapabilities(jvmti, &wanted);
    printf("holder: error=%d\n", (int)error);
    fflush(stdout);
    return error == JVMTI_ERROR_NONE ? JNI_OK : JNI_ERR;
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    return hold(vm, options);
}

JNIEXPORT jint JNICALL Agent_OnAttach(JavaVM *vm, char *options, void *reserved)
{
    return hold(vm, options);
}
