#include "start.h"

static void JNICALL load(jvmtiEnv *env, JNIEnv *jni, jthread thread, jclass class)
{
    (*jvmti)->SetTag(jvmti, class, 1);
}

JNIEXPORT void JNICALL Java_Loads_look(JNIEnv *jni, jclass class, jboolean is_last)
{
    jclass *classes;
    jint status, count = 0;
    (*jvmti)->GetLoadedClasses(jvmti, &count, &classes);
    for (jint i = 0; i < count; i++) {
        jlong tag = 0;
        (*jvmti)->GetTag(jvmti, classes[i], &tag);
        (*jvmti)->GetClassStatus(jvmti, classes[i], &status);
        if (is_last && !tag && !(status & (JVMTI_CLASS_STATUS_ARRAY | JVMTI_CLASS_STATUS_PRIMITIVE)))
            puts("fault: a class without ClassLoad");
        (*jvmti)->SetTag(jvmti, classes[i], 1);
    }
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    jvmtiCapabilities capabilities = {.can_tag_objects = 1};
    start(vm, capabilities, (jvmtiEventCallbacks){.ClassLoad = load}, JVMTI_EVENT_CLASS_LOAD);
    return 0;
}
