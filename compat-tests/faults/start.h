/* Starts an agent of JVMTI with these capabilities, and enables one event if it is not 0. */
#include <jvmti.h>
#include <stdio.h>

static jvmtiEnv *jvmti;

static inline jvmtiEnv *
start(JavaVM *vm, jvmtiCapabilities capabilities, jvmtiEventCallbacks callbacks, jvmtiEvent event)
{
    (*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_1_2);
    (*jvmti)->AddCapabilities(jvmti, &capabilities);
    (*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof callbacks);
    if (event)
        (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, event, NULL);
    return jvmti;
}
