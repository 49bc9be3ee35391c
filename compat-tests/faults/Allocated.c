#include "start.h"

static jint reported;

static void JNICALL sampled(jvmtiEnv *env, JNIEnv *jni, jthread thread, jobject object, jclass class, jlong size)
{
    reported++;
}

JNIEXPORT void JNICALL Java_Allocated_count(JNIEnv *jni, jclass class, jint allocated)
{
    if (reported < allocated)
        printf("fault: %d of %d allocations\n", reported, allocated);
    (*jvmti)->ForceGarbageCollection(jvmti);
    reported = 0;
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    jvmtiCapabilities capabilities = {.can_generate_sampled_object_alloc_events = 1};
    jvmtiEventCallbacks callbacks = {.SampledObjectAlloc = sampled};
    start(vm, capabilities, callbacks, JVMTI_EVENT_SAMPLED_OBJECT_ALLOC);
    return (*jvmti)->SetHeapSamplingInterval(jvmti, 0);
}
