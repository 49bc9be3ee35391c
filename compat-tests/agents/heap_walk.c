/*
 * heap_walk.c - gives the program HeapWork its native method: HeapWork.walk asks for a heap dump of
 * level 2.
 */
#include "agent.h"

static size_t dumped;

static jlong JNICALL walk(JNIEnv *env, jclass self, jclass watched)
{
    jint result;

    dumped = 0;
    result = jvmpi->RequestEvent(JVMPI_EVENT_HEAP_DUMP, NULL);
    report("walk result=%d bytes=%zu", (int)result, dumped);
    if (result != JVMPI_SUCCESS)
        abort();
    return -1;
}

static void notify(JVMPI_Event *e)
{
    if (e->event_type == JVMPI_EVENT_JVM_INIT_DONE) {
        JNINativeMethod method = { "walk", "(Ljava/lang/Class;)J", (void *)walk };
        jclass class = (*e->env_id)->FindClass(e->env_id, "HeapWork");

        if (class == NULL || (*e->env_id)->RegisterNatives(e->env_id, class, &method, 1) != JNI_OK)
            abort();
    } else if (e->event_type == (JVMPI_EVENT_HEAP_DUMP | JVMPI_REQUESTED_EVENT))
        dumped = (size_t)(e->u.heap_dump.end - e->u.heap_dump.begin);
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    agent_start(vm, options, notify);
    enable(JVMPI_EVENT_JVM_INIT_DONE);
    return JNI_OK;
}
