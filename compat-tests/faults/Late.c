#include "start.h"
#include <unistd.h>

static void JNICALL thread_start(jvmtiEnv *env, JNIEnv *jni, jthread thread)
{
    (*jvmti)->SetThreadLocalStorage(jvmti, NULL, jvmti);
}

static void JNICALL death(jvmtiEnv *env, JNIEnv *jni)
{
    usleep(300000);
}

JNIEXPORT void JNICALL Java_Late_look(JNIEnv *jni, jclass class)
{
    void *found = jvmti;
    if ((*jvmti)->GetThreadLocalStorage(jvmti, NULL, &found) == JVMTI_ERROR_NONE && found == NULL)
        puts("fault: a thread without ThreadStart");
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    jvmtiCapabilities none = {0};
    jvmtiEventCallbacks callbacks = {.ThreadStart = thread_start, .VMDeath = death};
    start(vm, none, callbacks, JVMTI_EVENT_THREAD_START);
    (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_VM_DEATH, NULL);
    return 0;
}
