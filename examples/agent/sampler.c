/* sampler.c - counts every 10 ms which method each running thread is in. */
#include <jvmpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Method {
    struct Method *next;
    jmethodID id;
    char *name; /* class.method */
    long samples;
} Method;

typedef struct Thread {
    JNIEnv *env;
    jint has_run;
} Thread;

enum { BUCKETS = 1 << 14, MAX_THREADS = 4096 };

static JVMPI_Interface *jvmpi;
static JVMPI_RawMonitor lock, timer;
static Method *buckets[BUCKETS];    /* this and the threads are guarded by lock */
static Thread threads[MAX_THREADS];
static int num_threads;
static int done; /* guarded by timer */

static Method **bucket_of(jmethodID id) { return &buckets[(size_t)id / 8 % BUCKETS]; }

static void add_methods(const JVMPI_Event *e)
{
    const char *class_name = e->u.class_load.class_name;
    int i;

    for (i = 0; i < e->u.class_load.num_methods; i++) {
        const JVMPI_Method *from = &e->u.class_load.methods[i];
        Method *m = calloc(1, sizeof *m), **bucket = bucket_of(from->method_id);

        if (m == NULL || (m->name = malloc(strlen(class_name) + strlen(from->method_name) + 2)) == NULL)
            jvmpi->ProfilerExit(1);
        sprintf(m->name, "%s.%s", class_name, from->method_name);
        m->id = from->method_id;
        m->next = *bucket;
        *bucket = m;
    }
}

static void take_samples(void)
{
    int i;

    for (i = 0; i < num_threads; i++) /* of all threads first: sampling takes processor time itself */
        threads[i].has_run = jvmpi->ThreadHasRun(threads[i].env);
    for (i = 0; i < num_threads; i++) {
        JVMPI_CallFrame top;
        JVMPI_CallTrace trace;
        Method *m;

        trace.env_id = threads[i].env;
        trace.num_frames = 0;
        trace.frames = &top;
        if (threads[i].has_run)
            jvmpi->GetCallTrace(&trace, 1);
        if (trace.num_frames == 0)
            continue;
        for (m = *bucket_of(top.method_id); m != NULL && m->id != top.method_id; m = m->next)
            ;
        if (m != NULL)
            m->samples++;
    }
}

static void sampler(void *unused)
{
    (void)unused;
    jvmpi->RawMonitorEnter(timer);
    for (;;) {
        jvmpi->RawMonitorWait(timer, 10);
        if (done)
            break;
        jvmpi->DisableGC(); /* before the lock, never after it */
        jvmpi->RawMonitorEnter(lock);
        take_samples();
        jvmpi->RawMonitorExit(lock);
        jvmpi->EnableGC();
    }
    jvmpi->RawMonitorExit(timer);
}

static void write_report(void)
{
    const Method *m;
    int i;

    for (i = 0; i < BUCKETS; i++)
        for (m = buckets[i]; m != NULL; m = m->next)
            if (m->samples > 0)
                fprintf(stderr, "%8ld %s\n", m->samples, m->name);
}

static void notify(JVMPI_Event *e)
{
    int i;

    if (e->event_type == JVMPI_EVENT_JVM_INIT_DONE) {
        if (jvmpi->CreateSystemThread("sampler", JVMPI_MAXIMUM_PRIORITY, sampler) != JNI_OK)
            jvmpi->ProfilerExit(1);
        return;
    }
    if (e->event_type == JVMPI_EVENT_JVM_SHUT_DOWN) {
        jvmpi->RawMonitorEnter(timer);
        done = 1;
        jvmpi->RawMonitorExit(timer);
    }
    jvmpi->RawMonitorEnter(lock);
    switch (e->event_type) {
    case JVMPI_EVENT_CLASS_LOAD:
        add_methods(e);
        break;
    case JVMPI_EVENT_THREAD_START:
        if (num_threads < MAX_THREADS)
            threads[num_threads++].env = e->u.thread_start.thread_env_id;
        break;
    case JVMPI_EVENT_THREAD_END:
        for (i = 0; i < num_threads; i++)
            if (threads[i].env == e->env_id)
                threads[i--] = threads[--num_threads];
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        write_report();
        break;
    }
    jvmpi->RawMonitorExit(lock);
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    static const jint events[] = {
        JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_THREAD_START, JVMPI_EVENT_THREAD_END,
        JVMPI_EVENT_JVM_INIT_DONE, JVMPI_EVENT_JVM_SHUT_DOWN
    };
    size_t i;

    (void)options;
    (void)reserved;
    if ((*vm)->GetEnv(vm, (void **)&jvmpi, JVMPI_VERSION_1) != JNI_OK)
        return JNI_ERR;
    jvmpi->NotifyEvent = notify;
    lock = jvmpi->RawMonitorCreate("_sampler");
    timer = jvmpi->RawMonitorCreate("_sampler_timer");
    for (i = 0; i < sizeof events / sizeof *events; i++)
        if (jvmpi->EnableEvent(events[i], NULL) != JVMPI_SUCCESS)
            return JNI_ERR;
    return JNI_OK;
}
