#include "start.h"

static jvmtiEnv *first, *second;
static jboolean seen;

static void JNICALL freed(jvmtiEnv *env, jlong tag)
{
    seen |= env == first && tag == 2;
}

JNIEXPORT void JNICALL Java_Deaths_tag(JNIEnv *jni, jclass class, jobject object)
{
    (*first)->SetTag(first, object, 1);
    (*second)->SetTag(second, object, 2);
}

JNIEXPORT jboolean JNICALL Java_Deaths_walk(JNIEnv *jni, jclass class)
{
    jvmtiHeapCallbacks nothing = {0};
    (*first)->ForceGarbageCollection(first);
    (*first)->FollowReferences(first, 0, NULL, NULL, &nothing, NULL);
    return seen;
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    jvmtiCapabilities capabilities = {.can_tag_objects = 1, .can_generate_object_free_events = 1};
    first = start(vm, capabilities, (jvmtiEventCallbacks){.ObjectFree = freed}, JVMTI_EVENT_OBJECT_FREE);
    second = start(vm, capabilities, (jvmtiEventCallbacks){.ObjectFree = freed}, JVMTI_EVENT_OBJECT_FREE);
    return 0;
}
