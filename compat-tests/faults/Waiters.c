#include "start.h"

JNIEXPORT void JNICALL Java_Waiters_check(JNIEnv *jni, jclass class, jobject monitor)
{
    jvmtiMonitorUsage usage;
    if (!(*jvmti)->GetObjectMonitorUsage(jvmti, monitor, &usage) && usage.waiter_count > 0)
        puts("fault: a thread in Object.wait waits to own the monitor");
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    jvmtiCapabilities capabilities = {.can_get_monitor_info = 1};
    start(vm, capabilities, (jvmtiEventCallbacks){0}, 0);
    return 0;
}
