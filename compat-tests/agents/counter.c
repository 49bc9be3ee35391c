/*
 * counter.c - counts events by type, at the least cost: a benchmark then measures the cost of the
 * events.
 *
 * Options: events=1+3    those that are enabled in JVM_OnLoad
 *          until=start   disables them when the VM has started
 *          clock=y       also reads the processor's counter at each event, and adds up the
 *                        differences: the least work of an agent that times calls
 */
#include "agent.h"

enum { TYPES = 64 };

/* Of one thread, so that no two threads write to the same place. */
typedef struct Counters {
    struct Counters *next;
    long n[TYPES];
    uint64_t last_ticks;
    uint64_t ticks;
} Counters;

static Counters *all_counters;
static __thread Counters *mine __attribute__((tls_model("initial-exec")));

static inline uint64_t read_ticks(void)
{
#if defined(__x86_64__) || defined(__i386__)
    return __builtin_ia32_rdtsc();
#else
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
#endif
}

static __attribute__((noinline)) void count_first(const JVMPI_Event *e)
{
    Counters *c = calloc(1, sizeof *c);

    if (c == NULL)
        abort();
    c->n[e->event_type & (TYPES - 1)]++;
    c->last_ticks = read_ticks();
    c->next = __atomic_load_n(&all_counters, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&all_counters, &c->next, c, 0, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
        ;
    mine = c;
}

static inline void count(const JVMPI_Event *e)
{
    Counters *c = mine;

    if (c != NULL)
        c->n[e->event_type & (TYPES - 1)]++;
    else
        count_first(e);
}

static inline void count_time(void)
{
    uint64_t ticks = read_ticks();

    mine->ticks += ticks - mine->last_ticks;
    mine->last_ticks = ticks;
}

static __attribute__((noinline)) void report_counts(void)
{
    const Counters *c;
    int type;

    for (type = 0; type < TYPES; type++) {
        long sum = 0;
        for (c = __atomic_load_n(&all_counters, __ATOMIC_ACQUIRE); c != NULL; c = c->next)
            sum += c->n[type];
        if (sum > 0)
            report("events type=%d count=%ld", type, sum);
    }
    for (c = __atomic_load_n(&all_counters, __ATOMIC_ACQUIRE); c != NULL; c = c->next)
        if (c->ticks > 0)
            report("thread ticks=%llu", (unsigned long long)c->ticks);
}

/* Handles the events that come once. */
static __attribute__((noinline)) void start_or_end(const JVMPI_Event *e)
{
    if (e->event_type == JVMPI_EVENT_JVM_SHUT_DOWN)
        report_counts();
    else
        switch_events(jvmpi->DisableEvent, option("events", ""));
}

static void notify(JVMPI_Event *e)
{
    if (e->event_type == JVMPI_EVENT_JVM_INIT_DONE || e->event_type == JVMPI_EVENT_JVM_SHUT_DOWN)
        start_or_end(e);
    else
        count(e);
}

static void notify_timed(JVMPI_Event *e)
{
    notify(e);
    if (mine != NULL)
        count_time();
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    agent_start(vm, options, notify);
    if (strcmp(option("clock", ""), "y") == 0)
        jvmpi->NotifyEvent = notify_timed;
    switch_events(jvmpi->EnableEvent, option("events", ""));
    if (strcmp(option("until", ""), "start") == 0)
        enable(JVMPI_EVENT_JVM_INIT_DONE);
    enable(JVMPI_EVENT_JVM_SHUT_DOWN);
    return JNI_OK;
}
