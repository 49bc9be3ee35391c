#include "start.h"
#include <string.h>

static void JNICALL change(jvmtiEnv *env, JNIEnv *jni, jclass class, jobject loader, const char *name,
    jobject domain, jint length, const unsigned char *bytes, jint *new_length, unsigned char **new_bytes)
{
    static unsigned char version = 'A';
    if (class == NULL || (*jvmti)->Allocate(jvmti, *new_length = length, new_bytes)) return;
    unsigned char *text = memmem(memcpy(*new_bytes, bytes, length), length, "text ", 5);
    if (text) text[5] = ++version;
}

JNIEXPORT void JNICALL Java_Changed_retransform(JNIEnv *jni, jclass class)
{
    static jvmtiFrameInfo frame;
    jint count = 0;
    for (int i = 0; i < (frame.method ? 20 : 1); i++) {
        (*jvmti)->RetransformClasses(jvmti, 1, &class);
        (*jvmti)->ForceGarbageCollection(jvmti);
    }
    if (frame.method == NULL) (*jvmti)->GetStackTrace(jvmti, NULL, 1, 1, &frame, &count);
    else if (!(*jvmti)->GetMethodName(jvmti, frame.method, NULL, NULL, NULL)) puts("fault: it has a name");
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    jvmtiEventCallbacks callbacks = {.ClassFileLoadHook = change};
    start(vm, (jvmtiCapabilities){.can_retransform_classes = 1}, callbacks, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK);
    return 0;
}
