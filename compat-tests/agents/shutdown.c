/*
 * shutdown.c - does in JVM_SHUT_DOWN what HPROF does there: switches every event off, then makes
 * requests. Meanwhile another thread makes a request, for which the handler waits. Afterwards nothing may come, and every
 * function must still be harmless.
 */
#include "threads.h"

static jobjectID some_class;
static volatile int over, is_ending, has_asked;

static void make_requests(JNIEnv *env)
{
    JVMPI_CallFrame frames[8];
    JVMPI_CallTrace trace = { env, -1, frames };
    JVMPI_RawMonitor m = jvmpi->RawMonitorCreate("_late");
    JNIEnv *busy = thread_named("busy").env;
    jint i;

    jvmpi->RawMonitorEnter(m);
    for (i = 1; i <= JVMPI_MAX_EVENT_TYPE_VAL; i++)
        jvmpi->DisableEvent(i, NULL);
    jvmpi->RawMonitorExit(m);
    report("disabled");
    jvmpi->DisableGC();
    report("thread result=%d", (int)jvmpi->RequestEvent(JVMPI_EVENT_THREAD_START, jvmpi->GetThreadObject(busy)));
    report("class result=%d", (int)jvmpi->RequestEvent(JVMPI_EVENT_CLASS_LOAD, some_class));
    jvmpi->EnableGC();
    jvmpi->GetCallTrace(&trace, 8);
    CHECK("trace", trace.num_frames >= 0);
    CHECK("status", jvmpi->GetThreadStatus(busy) != 0);
    CHECK("time", jvmpi->GetCurrentThreadCpuTime() > 0);
}

/* Runs on a thread of its own. */
static void ask_beside(void *unused)
{
    while (!is_ending)
        usleep(1000);
    report("beside result=%d", (int)jvmpi->RequestEvent(JVMPI_EVENT_MONITOR_DUMP, NULL));
    has_asked = 1;
    for (;;)
        pause();
}

static void notify(JVMPI_Event *e)
{
    if (over)
        report("after type=%d", (int)e->event_type);
    else if (e->event_type & JVMPI_REQUESTED_EVENT)
        report("requested type=%d env=%#lx", (int)(e->event_type & ~JVMPI_REQUESTED_EVENT), ID(e->env_id));
    track_threads(e);
    switch (e->event_type) {
    case JVMPI_EVENT_CLASS_LOAD:
        if (strcmp(e->u.class_load.class_name, "java.lang.String") == 0)
            some_class = e->u.class_load.class_id;
        break;
    case JVMPI_EVENT_JVM_INIT_DONE:
        jvmpi->CreateSystemThread("beside", JVMPI_NORMAL_PRIORITY, ask_beside);
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        report("jvm_shut_down env=%#lx self=%#lx", ID(e->env_id), ID(current_env()));
        make_requests(e->env_id);
        is_ending = 1;
        while (!has_asked)
            usleep(1000);
        over = 1;
        report("end_of_handler");
        break;
    }
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    jint i;

    agent_start(vm, options, notify);
    for (i = 1; i <= JVMPI_MAX_EVENT_TYPE_VAL; i++)
        jvmpi->EnableEvent(i, NULL);
    return JNI_OK;
}

/* The interface may still be there, but not what is behind it. */
JNIEXPORT void JNICALL JVM_OnUnload(JavaVM *vm)
{
    JVMPI_CallFrame frames[8];
    JVMPI_CallTrace trace = { NULL, -1, frames };
    JVMPI_RawMonitor m = jvmpi->RawMonitorCreate("_too late");

    jvmpi->RawMonitorEnter(m);
    jvmpi->RawMonitorExit(m);
    jvmpi->EnableEvent(JVMPI_EVENT_CLASS_LOAD, NULL);
    jvmpi->RequestEvent(JVMPI_EVENT_CLASS_LOAD, some_class);
    jvmpi->GetCallTrace(&trace, 8);
    jvmpi->jobjectID2jobject(some_class);
    jvmpi->DisableGC();
    jvmpi->EnableGC();
    CHECK("no new thread", jvmpi->CreateSystemThread("late", JVMPI_NORMAL_PRIORITY, (void (*)(void *))abort) == JNI_ERR);
    report("unloaded");
}
