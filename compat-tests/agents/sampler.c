/*
 * sampler.c - a sampling profiler, made as HPROF made it for cpu=samples: a system thread that wakes
 * every few milliseconds, suspends the threads that are runnable, takes the stacks of those that
 * have run since the last time, and resumes them.
 *
 * Options: interval=1    milliseconds between two ticks
 *          depth=16      frames of a stack that are kept
 *          top=10        stacks that are written, those seen most often first
 *          out=samples.txt
 */
#include "methods.h"

typedef struct {
    const Method *method;
    jint line;
} Frame;

typedef struct Stack {
    struct Stack *next;
    unsigned hash;
    long count;
    int depth;
    Frame frames[];
} Stack;

typedef struct {
    JVMPI_CallTrace trace; /* env_id is the thread; frames has room for max_depth */
    int suspended;
} Thread;

enum { BUCKETS = 1 << 14 };

static Stack *stacks[BUCKETS];
static Thread *threads;
static int num_threads, room_for_threads;
static int interval, max_depth;
static long ticks, samples, num_stacks, unresolved;
static long long began;
static volatile int done;
/* The variables above belong to the owner of lock; only the sampler waits on timer. */
static JVMPI_RawMonitor lock, timer;

static void *must(void *memory)
{
    if (memory == NULL) {
        fprintf(stderr, "sampler: out of memory\n");
        jvmpi->ProfilerExit(1);
    }
    return memory;
}

static void thread_started(JNIEnv *env)
{
    if (num_threads == room_for_threads) {
        room_for_threads = 2 * room_for_threads + 16;
        threads = must(realloc(threads, (size_t)room_for_threads * sizeof *threads));
    }
    threads[num_threads].suspended = 0;
    threads[num_threads].trace.env_id = env;
    threads[num_threads++].trace.frames =
        must(calloc((size_t)max_depth, sizeof(JVMPI_CallFrame)));
}

static void thread_ended(JNIEnv *env)
{
    int i;

    for (i = 0; i < num_threads; i++)
        if (threads[i].trace.env_id == env) {
            free(threads[i].trace.frames);
            threads[i] = threads[--num_threads];
            return;
        }
}

/* Counts one stack. Every method in it must be known. */
static void count(const JVMPI_CallTrace *trace)
{
    size_t size = (size_t)trace->num_frames * sizeof(Frame);
    Stack *fresh = must(calloc(1, sizeof *fresh + size)), *s;
    unsigned hash = 0;
    int i;

    for (i = 0; i < trace->num_frames; i++) {
        fresh->frames[i].method = method_of(trace->frames[i].method_id);
        fresh->frames[i].line = trace->frames[i].lineno;
        unresolved += fresh->frames[i].method == NULL;
        hash = 31 * hash + (unsigned)((uintptr_t)fresh->frames[i].method >> 4);
        hash = 31 * hash + (unsigned)trace->frames[i].lineno;
    }
    samples++;
    for (s = stacks[hash % BUCKETS]; s != NULL; s = s->next)
        if (s->hash == hash && s->depth == trace->num_frames
            && memcmp(s->frames, fresh->frames, size) == 0) {
            s->count++;
            free(fresh);
            return;
        }
    num_stacks++;
    fresh->hash = hash;
    fresh->count = 1;
    fresh->depth = trace->num_frames;
    fresh->next = stacks[hash % BUCKETS];
    stacks[hash % BUCKETS] = fresh;
}

/* From the first thread suspended to the last resumed nothing is allocated or printed. */
static void tick(JNIEnv *self)
{
    int i;

    for (i = 0; i < num_threads; i++) {
        JNIEnv *env = threads[i].trace.env_id;
        threads[i].trace.num_frames = 0;
        if (env == self
            || (jvmpi->GetThreadStatus(env) & ~JVMPI_THREAD_INTERRUPTED) != JVMPI_THREAD_RUNNABLE)
            continue;
        jvmpi->SuspendThread(env);
        threads[i].suspended = 1;
    }
    for (i = 0; i < num_threads; i++)
        if (threads[i].suspended && jvmpi->ThreadHasRun(threads[i].trace.env_id))
            jvmpi->GetCallTrace(&threads[i].trace, max_depth);
    for (i = 0; i < num_threads; i++)
        if (threads[i].suspended) {
            jvmpi->ResumeThread(threads[i].trace.env_id);
            threads[i].suspended = 0;
        }
    for (i = 0; i < num_threads; i++)
        if (threads[i].trace.num_frames > 0)
            count(&threads[i].trace);
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
            ticks++;
            tick(self);
        }
        jvmpi->RawMonitorExit(lock);
        jvmpi->EnableGC();
    }
    jvmpi->RawMonitorExit(timer);
}

static int more_often(const void *a, const void *b)
{
    const Stack *first = *(Stack *const *)a, *second = *(Stack *const *)b;

    return (second->count > first->count) - (second->count < first->count);
}

static void write_stack(FILE *out, int rank, const Stack *s)
{
    int i;

    fprintf(out, "\n%4d %6.2f%% %7ld\n", rank, 100.0 * (double)s->count / (double)samples, s->count);
    for (i = 0; i < s->depth; i++) {
        const Method *m = s->frames[i].method;
        fprintf(out, "          %s(", m != NULL ? m->name : "<unknown>");
        if (s->frames[i].line == -3)
            fprintf(out, "Native method)\n");
        else if (m == NULL || *m->source == '\0')
            fprintf(out, "Unknown source)\n");
        else if (s->frames[i].line < 0)
            fprintf(out, "%s)\n", m->source);
        else
            fprintf(out, "%s:%d)\n", m->source, (int)s->frames[i].line);
    }
}

static void write_report(void)
{
    double seconds = (double)(nanos() - began) / 1e9;
    int top = atoi(option("top", "10")), i, n = 0;
    Stack **sorted = must(malloc((size_t)(num_stacks + 1) * sizeof *sorted)), *s;
    FILE *out = fopen(option("out", "samples.txt"), "wb");

    if (out == NULL) {
        perror("sampler: cannot write its report");
        jvmpi->ProfilerExit(1);
    }
    for (i = 0; i < BUCKETS; i++)
        for (s = stacks[i]; s != NULL; s = s->next)
            sorted[n++] = s;
    qsort(sorted, (size_t)n, sizeof *sorted, more_often);
    fprintf(out, "samples %ld\nstacks %ld\nunresolved frames %ld\nticks %ld\nseconds %.3f\n"
            "ticks per second %.0f\n\nrank  share   count\n", samples, num_stacks, unresolved, ticks,
            seconds, (double)ticks / seconds);
    for (i = 0; i < n && i < top; i++)
        write_stack(out, i + 1, sorted[i]);
    fclose(out);
}

static void notify(JVMPI_Event *e)
{
    jvmpi->RawMonitorEnter(lock);
    switch (e->event_type) {
    case JVMPI_EVENT_CLASS_LOAD:
        learn_methods(e);
        break;
    case JVMPI_EVENT_THREAD_START:
        thread_started(e->u.thread_start.thread_env_id);
        break;
    case JVMPI_EVENT_THREAD_END:
        thread_ended(e->env_id);
        break;
    case JVMPI_EVENT_JVM_INIT_DONE:
        began = nanos();
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        done = 1;
        write_report();
        break;
    }
    jvmpi->RawMonitorExit(lock);
    if (e->event_type == JVMPI_EVENT_JVM_INIT_DONE
        && jvmpi->CreateSystemThread("sampler", JVMPI_MAXIMUM_PRIORITY, sample) != JNI_OK) {
        fprintf(stderr, "sampler: cannot start its thread\n");
        jvmpi->ProfilerExit(1);
    }
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    static const jint wanted[] = {
        JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_THREAD_START, JVMPI_EVENT_THREAD_END,
        JVMPI_EVENT_JVM_INIT_DONE, JVMPI_EVENT_JVM_SHUT_DOWN,
    };
    size_t i;

    agent_vm = vm;
    agent_options = options != NULL ? strdup(options) : "";
    interval = atoi(option("interval", "1"));
    max_depth = atoi(option("depth", "16"));
    if (interval < 1 || max_depth < 1) {
        fprintf(stderr, "sampler: interval and depth are at least 1\n");
        return JNI_ERR;
    }
    if ((*vm)->GetEnv(vm, (void **)&jvmpi, JVMPI_VERSION_1) != JNI_OK)
        return JNI_ERR;
    jvmpi->NotifyEvent = notify;
    lock = jvmpi->RawMonitorCreate("_sampler_data");
    timer = jvmpi->RawMonitorCreate("_sampler_timer");
    for (i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (jvmpi->EnableEvent(wanted[i], NULL) != JVMPI_SUCCESS)
            return JNI_ERR;
    return JNI_OK;
}
