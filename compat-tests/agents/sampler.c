/*
 * sampler.c - a sampling profiler, made as HPROF made it for cpu=samples: a system thread that wakes
 * every few milliseconds, suspends the threads that are runnable, takes the stacks of those that
 * have run since the last time, and resumes them.
 *
 * Options: interval=1    milliseconds between two ticks
 *          depth=16      frames of a stack that are kept, 16 at most
 *
 * Reports each stack and how often it was seen, and the totals.
 */
#include "methods.h"
#include "threads.h"

enum { MOST = 16, BUCKETS = 1 << 14 };

typedef struct Stack {
    struct Stack *next;
    uint64_t hash;
    long count;
    int depth;
    JVMPI_CallFrame frames[];
} Stack;

static Stack *stacks[BUCKETS];
static int interval, max_depth;
static long ticks, samples, unresolved;
static long long began, longest;
static volatile int done;
/* The variables above and the known threads belong to the owner of lock; only the sampler waits on timer. */
static JVMPI_RawMonitor lock, timer;

/* Counts one stack. Every method in it must be known. */
static void count(const JVMPI_CallTrace *trace)
{
    size_t size = (size_t)trace->num_frames * sizeof *trace->frames;
    uint64_t hash = 0;
    Stack **s;
    int i;

    for (i = 0; i < trace->num_frames; i++)
        hash = (hash ^ ID(trace->frames[i].method_id) ^ (uint64_t)trace->frames[i].lineno << 48) * 0x9e3779b97f4a7c15u;
    s = &stacks[hash >> 32 & (BUCKETS - 1)];
    while (*s != NULL && (*s)->hash != hash)
        s = &(*s)->next;
    if (*s == NULL) {
        *s = calloc(1, sizeof **s + size);
        if (*s == NULL)
            abort();
        (*s)->hash = hash;
        (*s)->depth = trace->num_frames;
        memcpy((*s)->frames, trace->frames, size);
    }
    for (i = 0; i < trace->num_frames; i++)
        unresolved += method_of(trace->frames[i].method_id) == NULL;
    (*s)->count++;
    samples++;
}

/* From the first thread suspended to the last resumed nothing is allocated or printed. */
static void tick(JNIEnv *self)
{
    static JVMPI_CallFrame frames[MAX_THREADS][MOST];
    static JVMPI_CallTrace traces[MAX_THREADS];
    int i, n = 0;

    for (i = 0; i < threads_known; i++) {
        JNIEnv *env = known_threads[i].env;
        if (env == NULL || env == self
            || (jvmpi->GetThreadStatus(env) & ~JVMPI_THREAD_INTERRUPTED) != JVMPI_THREAD_RUNNABLE)
            continue;
        jvmpi->SuspendThread(env);
        traces[n] = (JVMPI_CallTrace){ env, 0, frames[n] };
        n++;
    }
    for (i = 0; i < n; i++)
        if (jvmpi->ThreadHasRun(traces[i].env_id))
            jvmpi->GetCallTrace(&traces[i], max_depth);
    for (i = 0; i < n; i++)
        jvmpi->ResumeThread(traces[i].env_id);
    for (i = 0; i < n; i++)
        if (traces[i].num_frames > 0)
            count(&traces[i]);
}

static void sample(void *unused)
{
    JNIEnv *self = current_env();

    jvmpi->RawMonitorEnter(timer);
    while (!done) {
        jvmpi->RawMonitorWait(timer, interval);
        jvmpi->DisableGC();
        jvmpi->RawMonitorEnter(lock);
        if (!done) {
            long long start = nanos();
            ticks++;
            tick(self);
            if (nanos() - start > longest)
                longest = nanos() - start;
        }
        jvmpi->RawMonitorExit(lock);
        jvmpi->EnableGC();
    }
    jvmpi->RawMonitorExit(timer);
}

static void report_samples(void)
{
    long long took = nanos() - began;
    const Stack *s;
    int i, j;

    for (i = 0; i < BUCKETS; i++)
        for (s = stacks[i]; s != NULL; s = s->next) {
            char names[2000] = "";
            size_t used = 0;
            for (j = 0; j < s->depth && used < sizeof names; j++) {
                const char *name = method_name(s->frames[j].method_id);
                used += (size_t)snprintf(names + used, sizeof names - used, "%s%s:%d", j > 0 ? ";" : "",
                                         name != NULL ? name : "?", (int)s->frames[j].lineno);
            }
            report("stack count=%ld frames=%s", s->count, q(names));
        }
    report("total samples=%ld unresolved=%ld ticks=%ld ms=%lld longest=%lld", samples, unresolved, ticks,
           took / 1000000, longest / 1000000);
}

static void notify(JVMPI_Event *e)
{
    jvmpi->RawMonitorEnter(lock);
    track_threads(e);
    if (e->event_type == JVMPI_EVENT_CLASS_LOAD)
        learn_methods(e);
    else if (e->event_type == JVMPI_EVENT_JVM_INIT_DONE)
        began = nanos();
    else if (e->event_type == JVMPI_EVENT_JVM_SHUT_DOWN) {
        done = 1;
        report_samples();
    }
    jvmpi->RawMonitorExit(lock);
    if (e->event_type == JVMPI_EVENT_JVM_INIT_DONE
        && jvmpi->CreateSystemThread("sampler", JVMPI_MAXIMUM_PRIORITY, sample) != JNI_OK)
        report("error what=CreateSystemThread");
}

ON_LOAD(notify)
{
    interval = atoi(option("interval", "1"));
    max_depth = atoi(option("depth", "16"));
    lock = jvmpi->RawMonitorCreate("_sampler_data");
    timer = jvmpi->RawMonitorCreate("_sampler_timer");
    ENABLE(JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_THREAD_START, JVMPI_EVENT_THREAD_END, JVMPI_EVENT_JVM_INIT_DONE,
           JVMPI_EVENT_JVM_SHUT_DOWN);
}
