/*
 * self_suspend.c - enables nothing; the program's first call has it request THREAD_START of the current thread
 * and then suspend this thread itself.
 */
#include "call.h"

static void notify(JVMPI_Event *e)
{
    report("event type=%d", (int)e->event_type);
}

static jlong called(JNIEnv *env, const char *what, jobject object)
{
    jobjectID id;

    jvmpi->DisableGC();
    id = jvmpi->GetThreadObject(env);
    report("requested result=%d", (int)jvmpi->RequestEvent(JVMPI_EVENT_THREAD_START, id));
    jvmpi->SuspendThread(env);
    return 0;
}

ON_LOAD(notify)
{
}
