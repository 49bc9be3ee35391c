/*
 * delay.c - no agent of JVMPI but one of JVMTI: a thread of the shim's or of a sampler's starts later than others, by a
 * third of a second.
 */
#include <jvmti.h>
#include <string.h>
#include <time.h>

#include "jvmpi.h"

static void JNICALL thread_start(jvmtiEnv *jvmti, JNIEnv *env, jthread thread)
{
    const struct timespec third = {0, 333000000};
    jvmtiThreadInfo info;
    int is_delayed;

    memset(&info, 0, sizeof info);
    if ((*jvmti)->GetThreadInfo(jvmti, thread, &info) != JVMTI_ERROR_NONE)
        return;
    is_delayed = strstr(info.name, "jvmpi") != NULL || strstr(info.name, "sampler") != NULL;
    (*jvmti)->Deallocate(jvmti, (unsigned char *)info.name);
    if (is_delayed)
        nanosleep(&third, NULL);
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    jvmtiEventCallbacks callbacks;
    jvmtiEnv *jvmti;

    if ((*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_11) != JNI_OK)
        return JNI_ERR;
    memset(&callbacks, 0, sizeof callbacks);
    callbacks.ThreadStart = thread_start;
    (*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof callbacks);
    (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_THREAD_START, NULL);
    return JNI_OK;
}
