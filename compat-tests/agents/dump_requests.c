/*
 * dump_requests.c - requests a dump whenever the program says so, and drops it: "heap", "monitors", "both". With "objects"
 * it enables OBJECT_ALLOC anew, which announces all objects to it.
 */
#include "call.h"

static void notify(JVMPI_Event *e)
{
}

static jint request(jint type)
{
    jint result = jvmpi->RequestEvent(type, NULL);

    report("requested type=%d result=%d", (int)type, (int)result);
    return result;
}

static jlong called(JNIEnv *env, const char *what, jobject object)
{
    jint result = JVMPI_SUCCESS;

    if (strcmp(what, "objects") == 0) {
        jvmpi->DisableEvent(JVMPI_EVENT_OBJECT_ALLOC, NULL);
        return jvmpi->EnableEvent(JVMPI_EVENT_OBJECT_ALLOC, NULL);
    }
    if (strcmp(what, "monitors") != 0)
        result = request(JVMPI_EVENT_HEAP_DUMP);
    if (strcmp(what, "heap") != 0 && result == JVMPI_SUCCESS)
        result = request(JVMPI_EVENT_MONITOR_DUMP);
    return result;
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    agent_start(vm, options, notify);
    return JNI_OK;
}
