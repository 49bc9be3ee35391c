/*
 * big_lock.c - an agent of the old school: it has one lock for everything, takes it in every event,
 * keeps it from GC_START to GC_FINISH, and makes its calls while it holds it.
 *
 * Options: lock=mutex    a lock of the system's instead of a raw monitor
 *          calls=...     any of requests, traces, collections and disabling, joined by +
 */
#include "call.h"
#include "threads.h"

enum { DEPTH = 8 };

static JVMPI_RawMonitor monitor;
static pthread_mutex_t mutex;
static int uses_mutex, requests, traces, collections, disabling;

/* The following belongs to the owner of the lock. */
static jobjectID last_class;
static long events, requests_made, requests_served, traces_taken, frames_seen, collections_run, brackets, times_disabled;
static volatile int over;

static void enter(void)
{
    if (uses_mutex)
        pthread_mutex_lock(&mutex);
    else
        jvmpi->RawMonitorEnter(monitor);
}

static void leave(void)
{
    if (uses_mutex)
        pthread_mutex_unlock(&mutex);
    else
        jvmpi->RawMonitorExit(monitor);
}

static void trace(JNIEnv *env)
{
    JVMPI_CallFrame frames[DEPTH];

    traces_taken++;
    frames_seen += call_trace(env, frames, DEPTH).num_frames;
}

static void request(JNIEnv *env)
{
    jobjectID thread = jvmpi->GetThreadObject(env);

    requests_made += 3;
    requests_served += jvmpi->RequestEvent(JVMPI_EVENT_OBJECT_ALLOC, last_class) == JVMPI_SUCCESS;
    requests_served += jvmpi->RequestEvent(JVMPI_EVENT_OBJECT_ALLOC, thread) == JVMPI_SUCCESS;
    requests_served += jvmpi->RequestEvent(JVMPI_EVENT_THREAD_START, thread) == JVMPI_SUCCESS;
}

static void work_on(const JVMPI_Event *e)
{
    events++;
    switch (e->event_type) {
    case JVMPI_EVENT_THREAD_START:
    case JVMPI_EVENT_THREAD_END:
        track_threads(e);
        break;
    case JVMPI_EVENT_CLASS_LOAD:
        if (last_class == NULL)
            last_class = e->u.class_load.class_id;
        break;
    case JVMPI_EVENT_OBJECT_ALLOC:
        if (traces && events % 16 == 0)
            trace(e->env_id);
        if (requests && events % 64 == 0)
            request(e->env_id);
        break;
    case JVMPI_EVENT_GC_FINISH:
        brackets++;
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        over = 1;
        report("done events=%ld requests=%ld served=%ld traces=%ld frames=%ld collections=%ld brackets=%ld"
               " disabled=%ld", events, requests_made, requests_served, traces_taken, frames_seen,
               collections_run, brackets, times_disabled);
        break;
    }
}

static void notify(JVMPI_Event *e)
{
    switch (e->event_type) {
    case JVMPI_EVENT_OBJECT_FREE:
    case JVMPI_EVENT_OBJECT_MOVE:
    case JVMPI_EVENT_ARENA_DELETE:
    case JVMPI_EVENT_CLASS_UNLOAD:
        work_on(e);
        break;
    case JVMPI_EVENT_GC_START:
        enter();
        work_on(e);
        break;
    case JVMPI_EVENT_GC_FINISH:
        work_on(e);
        leave();
        break;
    default:
        enter();
        work_on(e);
        leave();
    }
}

/* A profiler's own thread, which looks at everything again and again. */
static void inspect(void *unused)
{
    JNIEnv *self = current_env();
    int i;

    while (!over) {
        jvmpi->DisableGC();
        enter();
        times_disabled++;
        request(self);
        for (i = 0; i < threads_known; i++)
            if (known_threads[i].env != NULL)
                trace(known_threads[i].env);
        leave();
        jvmpi->EnableGC();
        sleep_ms(1);
    }
}

static jlong called(JNIEnv *env, const char *what, jobject object)
{
    if (!collections || strcmp(what, "run_gc") != 0)
        return 0;
    enter();
    jvmpi->RunGC();
    collections_run++;
    leave();
    return 0;
}

static void start_inspector(JVMPI_Event *e)
{
    notify(e);
    if (e->event_type != JVMPI_EVENT_JVM_INIT_DONE)
        return;
    jvmpi->NotifyEvent = notify;
    if (jvmpi->CreateSystemThread("inspector", JVMPI_NORMAL_PRIORITY, inspect) != JNI_OK)
        report("error what=CreateSystemThread");
}

ON_LOAD(notify)
{
    pthread_mutexattr_t recursive;
    const char *calls;

    uses_mutex = strcmp(option("lock", ""), "mutex") == 0;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&mutex, &recursive);
    monitor = jvmpi->RawMonitorCreate("_big_lock");
    calls = option("calls", "");
    requests = strstr(calls, "requests") != NULL;
    traces = strstr(calls, "traces") != NULL;
    collections = strstr(calls, "collections") != NULL;
    disabling = strstr(calls, "disabling") != NULL;
    if (disabling)
        jvmpi->NotifyEvent = start_inspector;
    ENABLE(JVMPI_EVENT_OBJECT_ALLOC, JVMPI_EVENT_OBJECT_FREE, JVMPI_EVENT_OBJECT_MOVE, JVMPI_EVENT_ARENA_NEW,
           JVMPI_EVENT_ARENA_DELETE, JVMPI_EVENT_GC_START, JVMPI_EVENT_GC_FINISH, JVMPI_EVENT_CLASS_LOAD,
           JVMPI_EVENT_CLASS_UNLOAD, JVMPI_EVENT_THREAD_START, JVMPI_EVENT_THREAD_END, JVMPI_EVENT_JVM_INIT_DONE,
           JVMPI_EVENT_JVM_SHUT_DOWN);
}
