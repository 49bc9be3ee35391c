/*
 * cpu_time.c - GetCurrentThreadCpuTime, of threads that the program makes, and of collections.
 *
 * Options: gc=1  sums up what passes from GC_START to GC_FINISH, as profilers do that take it off the
 *                time of methods
 */
#include "call.h"

static JNIEnv *mine; /* The thread that collections are to name. */
static jlong last, started, in_collections;
static long backwards, others;

/* The clock of that thread. */
static jlong read_clock(void)
{
    jlong now = jvmpi->GetCurrentThreadCpuTime();

    backwards += now < last;
    last = now;
    return now;
}

static void notify(JVMPI_Event *e)
{
    if (mine == NULL)
        return;
    others += e->env_id != mine;
    if (e->event_type == JVMPI_EVENT_GC_START)
        started = read_clock();
    else
        in_collections += read_clock() - started;
}

static jlong called(JNIEnv *env, const char *what, jobject object)
{
    if (strcmp(what, "mine") == 0) {
        jvmpi->SetThreadLocalStorage(env, &mine);
        jvmpi->RunGC();
        mine = env;
    } else if (strcmp(what, "run_gc") == 0) {
        jvmpi->RunGC();
    } else if (strcmp(what, "in_collections") == 0) {
        return in_collections;
    } else if (strcmp(what, "wrong") == 0) {
        return backwards + others;
    }
    return env == mine ? read_clock() : jvmpi->GetCurrentThreadCpuTime();
}

ON_LOAD(notify)
{
    if (atoi(option("gc", "0")))
        ENABLE(JVMPI_EVENT_GC_START, JVMPI_EVENT_GC_FINISH);
}
