#include "start.h"

JNIEXPORT void JNICALL Java_Lambdas_retransform(JNIEnv *jni, jclass class)
{
    (*jvmti)->RetransformClasses(jvmti, 1, &class);
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    jvmtiCapabilities capabilities = {.can_retransform_classes = 1};
    start(vm, capabilities, (jvmtiEventCallbacks){0}, 0);
    return 0;
}
