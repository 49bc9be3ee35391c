#include "start.h"

static int monitors;

static jint JNICALL visit(jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo *info, jlong class,
    jlong referrer_class, jlong size, jlong *tag, jlong *referrer_tag, jint length, void *data)
{
    monitors += kind == JVMTI_HEAP_REFERENCE_MONITOR;
    return JVMTI_VISIT_OBJECTS;
}

JNIEXPORT void JNICALL Java_Roots_walk(JNIEnv *jni, jclass class)
{
    jvmtiHeapCallbacks callbacks = {.heap_reference_callback = visit};
    (*jvmti)->FollowReferences(jvmti, 0, NULL, NULL, &callbacks, NULL);
    if (monitors == 0)
        puts("fault: no monitor is a root");
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    jvmtiCapabilities capabilities = {.can_tag_objects = 1};
    start(vm, capabilities, (jvmtiEventCallbacks){0}, 0);
    return 0;
}
