#include "start.h"
#include <time.h>

#define SMALL 4000

/* Returns the milliseconds of CPU that this many weak references take while as many local ones exist. */
static long weak(JNIEnv *jni, jobject object, jint count)
{
    (*jni)->PushLocalFrame(jni, count);
    for (jint i = 0; i < count; i++)
        (*jni)->NewLocalRef(jni, object);
    clock_t begin = clock();
    for (jint i = 0; i < count; i++)
        (*jni)->DeleteWeakGlobalRef(jni, (*jni)->NewWeakGlobalRef(jni, object));
    clock_t end = clock();
    (*jni)->PopLocalFrame(jni, NULL);
    return (end - begin) * 1000 / CLOCKS_PER_SEC;
}

static void JNICALL init(jvmtiEnv *env, JNIEnv *jni, jthread thread)
{
    long small = weak(jni, thread, SMALL), large = weak(jni, thread, 8 * SMALL);
    if (large > 200 && large > 24 * small)
        puts("fault: -Xcheck:jni reads all local references for each weak one");
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    jvmtiCapabilities none = {0};
    start(vm, none, (jvmtiEventCallbacks){.VMInit = init}, JVMTI_EVENT_VM_INIT);
    return 0;
}
