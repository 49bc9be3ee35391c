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

/* One for each value of a byte, so that the handler needs no mask. */
enum { TYPES = 256 };

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

static __attribute__((noinline)) Counters *new_counters(void)
{
    Counters *c = calloc(1, sizeof *c);

    if (c == NULL)
        abort();
    c->last_ticks = read_ticks();
    c->next = __atomic_load_n(&all_counters, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&all_counters, &c->next, c, 0, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
        ;
    return mine = c;
}

static inline void count_time(void)
{
    uint64_t ticks = read_ticks();

    mine->ticks += ticks - mine->last_ticks;
    mine->last_ticks = ticks;
}

static void report_counts(void)
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

static void notify(JVMPI_Event *e)
{
    int type = e->event_type;
    Counters *c = mine != NULL ? mine : new_counters();

    c->n[(unsigned char)type]++;
}

static void notify_until_start(JVMPI_Event *e)
{
    notify(e);
    if (e->event_type == JVMPI_EVENT_JVM_INIT_DONE)
        switch_events(jvmpi->DisableEvent, option("events", ""));
}

static void notify_timed(JVMPI_Event *e)
{
    notify(e);
    count_time();
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    agent_start(vm, options, notify);
    if (strcmp(option("clock", ""), "y") == 0)
        jvmpi->NotifyEvent = notify_timed;
    switch_events(jvmpi->EnableEvent, option("events", ""));
    if (strcmp(option("until", ""), "start") == 0) {
        jvmpi->NotifyEvent = notify_until_start;
        enable(JVMPI_EVENT_JVM_INIT_DONE);
    }
    return atexit(report_counts) == 0 ? JNI_OK : JNI_ERR;
}
