/*
 * brackets.c - an agent without locks. It relies on the specification of GC_START and GC_FINISH:
 * all other threads are stopped in between. It counts the events of others that begin or end in a
 * collection, and the object events in progress when one begins.
 *
 */
#include "call.h"

enum { THREADS = 256 };

/* The event that each thread is just getting, 0 if none. */
static volatile struct {
    jint event;
    char rest[60];
} under_way[THREADS];
static int threads;
static __thread int self = -1;

static volatile long bracket; /* which one, 0 between them */
static __thread int in_bracket;
static long brackets, events_inside, objects_under_way;

static void began(void)
{
    int i, n = __atomic_load_n(&threads, __ATOMIC_SEQ_CST);

    in_bracket = 1;
    __atomic_store_n(&bracket, ++brackets, __ATOMIC_SEQ_CST);
    for (i = 0; i < n && i < THREADS; i++)
        if (i != self && under_way[i].event == JVMPI_EVENT_OBJECT_ALLOC)
            objects_under_way++;
}

static void ended(void)
{
    __atomic_store_n(&bracket, 0, __ATOMIC_SEQ_CST);
    in_bracket = 0;
}

static void notify(JVMPI_Event *e)
{
    jint outer;

    if (self < 0)
        self = __atomic_fetch_add(&threads, 1, __ATOMIC_SEQ_CST) % THREADS;
    if (e->event_type == JVMPI_EVENT_GC_START)
        began();
    if (!in_bracket) {
        int i;

        outer = under_way[self].event;
        __atomic_store_n(&under_way[self].event, e->event_type, __ATOMIC_SEQ_CST);
        for (i = 0; i < 20; i++)
            if (__atomic_load_n(&bracket, __ATOMIC_SEQ_CST) != 0) {
                __atomic_fetch_add(&events_inside, 1, __ATOMIC_SEQ_CST);
                break;
            }
        __atomic_store_n(&under_way[self].event, outer, __ATOMIC_SEQ_CST);
    }
    if (e->event_type == JVMPI_EVENT_GC_FINISH)
        ended();
    if (e->event_type == JVMPI_EVENT_JVM_SHUT_DOWN)
        report("brackets count=%ld events_inside=%ld objects_under_way=%ld", brackets, events_inside,
               objects_under_way);
}

static jlong called(JNIEnv *env, const char *what, jobject object)
{
    if (strcmp(what, "run_gc") == 0)
        jvmpi->RunGC();
    return brackets;
}

ON_LOAD(notify)
{
    ENABLE(JVMPI_EVENT_OBJECT_ALLOC, JVMPI_EVENT_OBJECT_FREE, JVMPI_EVENT_GC_START, JVMPI_EVENT_GC_FINISH,
           JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_CLASS_UNLOAD, JVMPI_EVENT_THREAD_START, JVMPI_EVENT_THREAD_END,
           JVMPI_EVENT_METHOD_ENTRY, JVMPI_EVENT_METHOD_EXIT, JVMPI_EVENT_JVM_SHUT_DOWN);
}
