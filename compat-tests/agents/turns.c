/*
 * turns.c - two threads ask for a collection at once. One owns a lock then, and the other waits for it after its
 * own collection. The commands return the number of collections reported to the calling thread in RunGC: "owner":
 * with the lock; "guest": and takes the lock then. "reset": before they begin.
 */
#include "call.h"

static JVMPI_RawMonitor monitor;
static volatile pid_t owner;
static volatile int has_asked;
static __thread int told;

static void notify(JVMPI_Event *e)
{
    if (e->event_type == JVMPI_EVENT_GC_FINISH)
        told++;
    /* The other one waits for this thread, unless it has been faster. */
    else if (owner != gettid())
        WAIT_UNTIL(has_asked || (owner != 0 && sleeps(owner)));
}

static jlong run_gc(void)
{
    told = 0;
    jvmpi->RunGC();
    return told;
}

static jlong called(JNIEnv *env, const char *what, jobject object)
{
    jlong result = 0;

    if (strcmp(what, "owner") == 0) {
        jvmpi->RawMonitorEnter(monitor);
        owner = gettid();
        result = run_gc();
        has_asked = 1;
        jvmpi->RawMonitorExit(monitor);
    } else if (strcmp(what, "guest") == 0) {
        result = run_gc();
        jvmpi->RawMonitorEnter(monitor);
        jvmpi->RawMonitorExit(monitor);
    } else if (strcmp(what, "reset") == 0)
        owner = has_asked = 0;
    return result;
}

ON_LOAD(notify)
{
    monitor = jvmpi->RawMonitorCreate("_turns");
    ENABLE(JVMPI_EVENT_GC_START, JVMPI_EVENT_GC_FINISH);
}
