/*
 * soak.c - does at random what an agent may do: threads of its own enable and disable events, ask
 * for objects and dumps, take call traces, suspend threads and collect garbage, again and again,
 * while the program runs; and its handler does some of that too.
 *
 * Options: seed=1       what is random follows from it and from how threads take turns
 *          drivers=2    threads that do it
 *          length=0     for so many milliseconds; then the program goes on without events
 */
#include "call.h"
#include "threads.h"

enum { RECENT = 256, DEPTH = 64, MOST_SUSPENDED = 8 };

/* The events that come again and again in every program. */
static const jint frequent[] = { JVMPI_EVENT_METHOD_ENTRY, JVMPI_EVENT_METHOD_EXIT, JVMPI_EVENT_OBJECT_ALLOC };

static const jint toggled[] = {
    JVMPI_EVENT_METHOD_ENTRY2, JVMPI_EVENT_OBJECT_FREE, JVMPI_EVENT_OBJECT_MOVE,
    JVMPI_EVENT_COMPILED_METHOD_LOAD, JVMPI_EVENT_COMPILED_METHOD_UNLOAD, JVMPI_EVENT_CLASS_LOAD,
    JVMPI_EVENT_CLASS_LOAD_HOOK, JVMPI_EVENT_CLASS_UNLOAD, JVMPI_EVENT_JNI_GLOBALREF_ALLOC,
    JVMPI_EVENT_JNI_GLOBALREF_FREE, JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC,
    JVMPI_EVENT_JNI_WEAK_GLOBALREF_FREE, JVMPI_EVENT_ARENA_NEW, JVMPI_EVENT_ARENA_DELETE,
    JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER, JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED,
    JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT, JVMPI_EVENT_MONITOR_CONTENDED_ENTER,
    JVMPI_EVENT_MONITOR_CONTENDED_ENTERED, JVMPI_EVENT_MONITOR_CONTENDED_EXIT,
    JVMPI_EVENT_MONITOR_WAIT, JVMPI_EVENT_MONITOR_WAITED, JVMPI_EVENT_GC_START, JVMPI_EVENT_GC_FINISH,
};

enum { FREQUENT = sizeof frequent / sizeof *frequent, TOGGLED = sizeof toggled / sizeof *toggled };

/* The last IDs met. Their objects and classes may be gone when they are used. */
static jobjectID objects[RECENT], classes[RECENT];
static unsigned next_object, next_class;
static JVMPI_RawMonitor contended;
static volatile int over;
static unsigned long touched;
static struct {
    long switches, requests, served, traces, frames, suspended, collections, dumps, threads;
} did;

#define COUNT(what) __atomic_add_fetch(&did.what, 1, __ATOMIC_RELAXED)

static unsigned pick(uint64_t *random, unsigned below)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return (unsigned)(*random >> 32) % below;
}

static JNIEnv *some_thread(uint64_t *random)
{
    unsigned i = pick(random, MAX_THREADS), n;

    for (n = 0; n < MAX_THREADS; n++) {
        JNIEnv *env = __atomic_load_n(&known_threads[(i + n) % MAX_THREADS].env, __ATOMIC_RELAXED);
        if (env != NULL)
            return env;
    }
    return NULL;
}

static jobjectID some(jobjectID *ids, uint64_t *random)
{
    return __atomic_load_n(&ids[pick(random, RECENT)], __ATOMIC_RELAXED);
}

static void ask(jint type, void *argument)
{
    jint result = jvmpi->RequestEvent(type, argument);

    COUNT(requests);
    if (result == JVMPI_SUCCESS)
        COUNT(served);
}

static void trace(JNIEnv *env, int depth)
{
    JVMPI_CallFrame frames[DEPTH];
    JVMPI_CallTrace trace = { env, -1, frames };

    jvmpi->GetCallTrace(&trace, depth);
    COUNT(traces);
    if (trace.num_frames < 0 || trace.num_frames > depth)
        report("error what=GetCallTrace frames=%d depth=%d", (int)trace.num_frames, depth);
    __atomic_add_fetch(&did.frames, trace.num_frames, __ATOMIC_RELAXED);
}

static void switch_event(uint64_t *random)
{
    static pthread_mutex_t taken = PTHREAD_MUTEX_INITIALIZER;
    int is_frequent = pick(random, 4) == 0, off = pick(random, 2) == 0;
    jint type = is_frequent ? frequent[pick(random, FREQUENT)] : toggled[pick(random, TOGGLED)], result;

    COUNT(switches);
    /* The code must not wait for a thread that does this already: this may be one of its events. */
    if (is_frequent && pthread_mutex_trylock(&taken) != 0)
        return;
    result = off ? jvmpi->DisableEvent(type, NULL) : jvmpi->EnableEvent(type, NULL);
    if (is_frequent)
        pthread_mutex_unlock(&taken);
    if (result != JVMPI_SUCCESS)
        report("error what=%s type=%d result=%d", off ? "DisableEvent" : "EnableEvent", (int)type, (int)result);
}

/* Between the first suspension and the last resumption nothing is allocated, printed or locked. */
static void suspend(uint64_t *random, JNIEnv *self)
{
    JNIEnv *envs[MOST_SUSPENDED];
    jint results[MOST_SUSPENDED];
    int n = 0, i, list = pick(random, 2) == 0, wanted = (int)pick(random, MOST_SUSPENDED) + 1;

    for (i = 0; i < wanted; i++) {
        JNIEnv *env = some_thread(random);
        if (env != NULL && env != self)
            envs[n++] = env;
    }
    jvmpi->DisableGC();
    if (list)
        jvmpi->SuspendThreadList(n, envs, results);
    for (i = 0; i < n; i++) {
        if (!list)
            jvmpi->SuspendThread(envs[i]);
        jvmpi->GetThreadStatus(envs[i]);
        if (jvmpi->ThreadHasRun(envs[i]))
            trace(envs[i], DEPTH);
        COUNT(suspended);
    }
    for (i = 0; i < n && !list; i++)
        jvmpi->ResumeThread(envs[i]);
    if (list)
        jvmpi->ResumeThreadList(n, envs, results);
    jvmpi->EnableGC();
}

static void request(uint64_t *random)
{
    JNIEnv *env = some_thread(random);

    jvmpi->DisableGC();
    switch (pick(random, 6)) {
    case 0:
        ask(JVMPI_EVENT_OBJECT_DUMP, some(objects, random));
        break;
    case 1:
        ask(JVMPI_EVENT_CLASS_LOAD, some(classes, random));
        break;
    case 2:
        ask(JVMPI_EVENT_THREAD_START, env != NULL ? jvmpi->GetThreadObject(env) : NULL);
        break;
    case 3:
        ask(JVMPI_EVENT_OBJECT_ALLOC, some(classes, random));
        break;
    default:
        ask(JVMPI_EVENT_OBJECT_ALLOC, some(objects, random));
    }
    jvmpi->EnableGC();
}

static void dump(uint64_t *random)
{
    JVMPI_HeapDumpArg level = { (jint)pick(random, 3) };

    COUNT(dumps);
    if (pick(random, 4) == 0)
        ask(JVMPI_EVENT_HEAP_DUMP, &level);
    else
        ask(JVMPI_EVENT_MONITOR_DUMP, NULL);
}

static void contend(uint64_t *random)
{
    JVMPI_RawMonitor own = jvmpi->RawMonitorCreate("soak");

    jvmpi->RawMonitorEnter(own);
    jvmpi->RawMonitorEnter(contended);
    if (pick(random, 2) == 0)
        jvmpi->RawMonitorNotifyAll(contended);
    else
        jvmpi->RawMonitorWait(contended, 1 + pick(random, 3));
    jvmpi->RawMonitorExit(contended);
    jvmpi->RawMonitorExit(own);
    jvmpi->RawMonitorDestroy(own);
}

static void short_lived(void *unused)
{
    trace(current_env(), DEPTH);
    COUNT(threads);
}

static void look(uint64_t *random)
{
    JNIEnv *env = some_thread(random);

    if (env == NULL)
        return;
    jvmpi->GetThreadStatus(env);
    jvmpi->SetThreadLocalStorage(env, env);
    jvmpi->GetThreadObject(env);
    touched += jvmpi->GetThreadLocalStorage(env) != NULL;
    touched += (unsigned long)jvmpi->GetCurrentThreadCpuTime();
    trace(env, 1 + (int)pick(random, DEPTH));
}

static void act(uint64_t *random, JNIEnv *self)
{
    unsigned what = pick(random, 100);

    if (what < 10)
        switch_event(random);
    else if (what < 30)
        suspend(random, self);
    else if (what < 55)
        request(random);
    else if (what < 57)
        dump(random);
    else if (what < 60) {
        jvmpi->RunGC();
        COUNT(collections);
    } else if (what < 62)
        jvmpi->CreateSystemThread("short-lived", JVMPI_NORMAL_PRIORITY, short_lived);
    else if (what < 70)
        contend(random);
    else if (what < 75) {
        jvmpi->DisableGC();
        sleep_ms(pick(random, 3));
        jvmpi->EnableGC();
    } else
        look(random);
}

static void leave_alone(void)
{
    int i;

    for (i = 0; i < FREQUENT; i++)
        jvmpi->DisableEvent(frequent[i], NULL);
    for (i = 0; i < TOGGLED; i++)
        jvmpi->DisableEvent(toggled[i], NULL);
}

static size_t memory_after_collection(void)
{
    jvmpi->RunGC();
    return memory_in_use();
}

/* Reports the memory without dead objects. An agent can put off a collection, so one may not be enough. */
static void report_memory(void)
{
    size_t least = memory_after_collection(), next;

    while ((next = memory_after_collection()) < least)
        least = next;
    report("memory in_use=%zu", least);
}

/* Half of the time is the program's, however long something takes. */
static void drive(void *unused)
{
    static unsigned drivers, left;
    long long length = atoll(option("length", "0")) * 1000000, end = nanos() + length;
    unsigned self = __atomic_fetch_add(&drivers, 1, __ATOMIC_RELAXED);
    uint64_t random = ((uint64_t)atoll(option("seed", "1")) * 8 + self + 1) * 0x9e3779b97f4a7c15u;
    JNIEnv *env = current_env();

    while (!over && (length == 0 || nanos() < end)) {
        long long began = nanos();
        act(&random, env);
        sleep_ms((long)((nanos() - began) / 1000000) + (long)pick(&random, 3));
    }
    if (!over && __atomic_add_fetch(&left, 1, __ATOMIC_RELAXED) == (unsigned)atoi(option("drivers", "2")))
        leave_alone();
}

/* Does at random one of the things that a handler of the event may do. */
static void act_in_event(const JVMPI_Event *e)
{
    static __thread uint64_t random;
    static __thread int inside;

    if (random == 0)
        random = (uint64_t)(uintptr_t)&random * 0x9e3779b97f4a7c15u | 1;
    if (inside || pick(&random, 4096) != 0)
        return;
    inside = 1;
    trace(e->env_id, DEPTH);
    switch (pick(&random, 8)) {
    case 0:
        ask(JVMPI_EVENT_OBJECT_ALLOC, e->u.obj_alloc.obj_id);
        break;
    case 1:
        ask(JVMPI_EVENT_OBJECT_DUMP, e->u.obj_alloc.obj_id);
        break;
    case 2:
        jvmpi->DisableGC();
        jvmpi->EnableGC();
        break;
    }
    inside = 0;
}

/* Every byte of it is there. */
static void touch(const void *data, size_t length)
{
    const unsigned char *bytes = data;

    for (; length > 0; length--)
        touched += *bytes++;
}

static void notify(JVMPI_Event *e)
{
    switch (e->event_type & ~JVMPI_REQUESTED_EVENT) {
    case JVMPI_EVENT_THREAD_START:
    case JVMPI_EVENT_THREAD_END:
        track_threads(e);
        break;
    case JVMPI_EVENT_OBJECT_ALLOC:
        __atomic_store_n(&objects[__atomic_fetch_add(&next_object, 1, __ATOMIC_RELAXED) % RECENT],
                         e->u.obj_alloc.obj_id, __ATOMIC_RELAXED);
        if ((e->event_type & JVMPI_REQUESTED_EVENT) == 0)
            act_in_event(e);
        break;
    case JVMPI_EVENT_CLASS_LOAD:
        __atomic_store_n(&classes[__atomic_fetch_add(&next_class, 1, __ATOMIC_RELAXED) % RECENT],
                         e->u.class_load.class_id, __ATOMIC_RELAXED);
        break;
    case JVMPI_EVENT_CLASS_LOAD_HOOK:
        keep_class_file(e);
        break;
    case JVMPI_EVENT_HEAP_DUMP:
        touch(e->u.heap_dump.begin, (size_t)(e->u.heap_dump.end - e->u.heap_dump.begin));
        break;
    case JVMPI_EVENT_OBJECT_DUMP:
        touch(e->u.object_dump.data, (size_t)e->u.object_dump.data_len);
        break;
    case JVMPI_EVENT_MONITOR_DUMP:
        touch(e->u.monitor_dump.begin, (size_t)(e->u.monitor_dump.end - e->u.monitor_dump.begin));
        break;
    case JVMPI_EVENT_JVM_INIT_DONE: {
        int i, drivers = atoi(option("drivers", "2"));
        for (i = 0; i < drivers; i++)
            if (jvmpi->CreateSystemThread("driver", JVMPI_NORMAL_PRIORITY, drive) != JNI_OK)
                report("error what=CreateSystemThread");
        break;
    }
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        over = 1;
        report("soaked switches=%ld requests=%ld served=%ld traces=%ld frames=%ld suspended=%ld"
               " collections=%ld dumps=%ld threads=%ld", did.switches, did.requests, did.served,
               did.traces, did.frames, did.suspended, did.collections, did.dumps, did.threads);
        break;
    }
}

static jlong called(JNIEnv *env, const char *what, jobject object)
{
    if (strcmp(what, "run_gc") == 0)
        jvmpi->RunGC();
    if (strcmp(what, "memory") == 0)
        report_memory();
    return 0;
}

ON_LOAD(notify)
{
    contended = jvmpi->RawMonitorCreate("_soak");
    ENABLE(JVMPI_EVENT_THREAD_START, JVMPI_EVENT_THREAD_END, JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_JVM_INIT_DONE,
           JVMPI_EVENT_JVM_SHUT_DOWN);
    enable(frequent[0]);
}
