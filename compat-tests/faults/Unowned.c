#include "start.h"

static void JNICALL waits(jvmtiEnv *env, JNIEnv *jni, jthread thread, jobject monitor, jlong timeout)
{
    if (timeout == 4711)
        puts("fault: MonitorWait for a call that throws IllegalMonitorStateException");
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    jvmtiCapabilities capabilities = {.can_generate_monitor_events = 1};
    start(vm, capabilities, (jvmtiEventCallbacks){.MonitorWait = waits}, JVMTI_EVENT_MONITOR_WAIT);
    return 0;
}
