#include "start.h"

JNIEXPORT void JNICALL Java_Making_walk(JNIEnv *jni, jclass class)
{
    jvmtiHeapCallbacks nothing = {0};
    (*jvmti)->FollowReferences(jvmti, 0, NULL, NULL, &nothing, NULL);
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    jvmtiCapabilities capabilities = {.can_tag_objects = 1};
    start(vm, capabilities, (jvmtiEventCallbacks){0}, 0);
    return 0;
}
