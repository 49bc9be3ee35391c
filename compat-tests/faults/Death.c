#include "start.h"
#include <unistd.h>

static volatile int freed;

JNIEXPORT void JNICALL Java_Death_tag(JNIEnv *jni, jclass class, jobject object)
{
    (*jvmti)->SetTag(jvmti, object, 1);
}

static void JNICALL object_free(jvmtiEnv *env, jlong tag)
{
    freed++;
}

static void JNICALL death(jvmtiEnv *env, JNIEnv *jni)
{
    (*jvmti)->ForceGarbageCollection(jvmti);
    for (int wait = 0; wait < 500 && !freed; wait++) usleep(10000);
    if (!freed) puts("fault: no ObjectFree");
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    jvmtiCapabilities capabilities = {.can_tag_objects = 1, .can_generate_object_free_events = 1};
    jvmtiEventCallbacks callbacks = {.VMDeath = death, .ObjectFree = object_free};
    start(vm, capabilities, callbacks, JVMTI_EVENT_OBJECT_FREE);
    return (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_VM_DEATH, NULL);
}
