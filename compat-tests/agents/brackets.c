/*
 * brackets.c - an agent without locks. It relies on the specification of GC_START and GC_FINISH:
 * all other threads are stopped in between. It counts the events of others that begin or end in a
 * collection, and the object events in progress when one begins.
 *
 * Options: mode=all   also events of methods
 *          disable=1  a thread of its own disables and enables collections all the while
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
static long brackets, events_inside, objects_under_way, disabled_inside, times_disabled;
static volatile int is_disabled, over;

static void began(void)
{
    int i, n = __atomic_load_n(&threads, __ATOMIC_SEQ_CST);

    in_bracket = 1;
    __atomic_store_n(&bracket, ++brackets, __ATOMIC_SEQ_CST);
    disabled_inside += is_disabled;
    for (i = 0; i < n && i < THREADS; i++)
        if (i != self && under_way[i].event == JVMPI_EVENT_OBJECT_ALLOC)
            objects_under_way++;
}

static void ended(void)
{
    disabled_inside += is_disabled;
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
    if (e->event_type == JVMPI_EVENT_JVM_SHUT_DOWN) {
        over = 1;
        report("brackets count=%ld events_inside=%ld objects_under_way=%ld disabled_inside=%ld disabled=%ld",
               brackets, events_inside, objects_under_way, disabled_inside, times_disabled);
    }
}

/* Between DisableGC and EnableGC there is no collection. */
static void disable(void *unused)
{
    while (!over) {
        jvmpi->DisableGC();
        is_disabled = 1;
        times_disabled++;
        sleep_ms(20);
        is_disabled = 0;
        jvmpi->EnableGC();
        sleep_ms(20);
    }
}

static void start_disabling(JVMPI_Event *e)
{
    notify(e);
    if (e->event_type != JVMPI_EVENT_JVM_INIT_DONE)
        return;
    jvmpi->NotifyEvent = notify;
    if (jvmpi->CreateSystemThread("disabler", JVMPI_NORMAL_PRIORITY, disable) != JNI_OK)
        report("error what=CreateSystemThread");
}

static jlong called(JNIEnv *env, const char *what, jobject object)
{
    if (strcmp(what, "run_gc") == 0)
        jvmpi->RunGC();
    return brackets;
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    static const jint wanted[] = {
        JVMPI_EVENT_OBJECT_ALLOC, JVMPI_EVENT_OBJECT_FREE, JVMPI_EVENT_GC_START, JVMPI_EVENT_GC_FINISH,
        JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_CLASS_UNLOAD, JVMPI_EVENT_THREAD_START, JVMPI_EVENT_THREAD_END,
        JVMPI_EVENT_JVM_INIT_DONE, JVMPI_EVENT_JVM_SHUT_DOWN,
    };
    size_t i;

    agent_start(vm, options, notify);
    if (atoi(option("disable", "0")))
        jvmpi->NotifyEvent = start_disabling;
    for (i = 0; i < sizeof wanted / sizeof *wanted; i++)
        enable(wanted[i]);
    if (mode_is("all")) {
        enable(JVMPI_EVENT_METHOD_ENTRY);
        enable(JVMPI_EVENT_METHOD_EXIT);
    }
    return JNI_OK;
}
