/*
 * ported.c - prints with JVMPI what the listings of docs/howto/port-to-jvmti.md print with JVMTI. The two are
 * compared.
 *
 * Options: methods=1   prints calls and returns instead, like examples/jvmti/methods.c
 *          prefix=     the classes whose calls are printed
 */
#include "methods.h"

enum { MAX = 4096 };

typedef struct {
    jobjectID id;
    char *name;
} Class;

typedef struct {
    JNIEnv *env;
    char *name;
} Thread;

typedef struct {
    jmethodID method;
    long count;
} Hit;

static Class classes[MAX];
static Thread threads[MAX];
static Hit hits[MAX];
static int num_classes, num_threads, num_hits;
static Class objects[MAX]; /* of the program's classes, each with the name of its class */
static int num_objects, done;
static long collections;
static const char *class_of_object; /* the answer to a request */
static JVMPI_RawMonitor lock, timer;

static const char *class_name(jobjectID id)
{
    int i;

    for (i = num_classes - 1; i >= 0; i--)
        if (classes[i].id == id)
            return classes[i].name;
    return "?";
}

static const char *thread_name(JNIEnv *env)
{
    int i;

    for (i = num_threads - 1; i >= 0; i--)
        if (threads[i].env == env)
            return threads[i].name;
    return "?";
}

static void print_frame(const JVMPI_CallFrame *frame)
{
    const Method *m = method_of(frame->method_id);

    printf("  %s:%d\n", m != NULL ? m->name : "?", (int)frame->lineno);
}

static void print_monitor(JVMPI_Event *e, const char *what, jobjectID object)
{
    JVMPI_CallFrame frames[8];
    JVMPI_CallTrace trace = { e->env_id, 0, frames };
    int i;

    class_of_object = "?";
    jvmpi->RequestEvent(JVMPI_EVENT_OBJECT_ALLOC, object);
    printf("%s %s %s\n", thread_name(e->env_id), what, class_of_object);
    jvmpi->GetCallTrace(&trace, 8);
    for (i = 0; i < trace.num_frames; i++)
        print_frame(&frames[i]);
}

/* Counts the program's objects in a heap dump of level 0, by class. */
static void count_live(const char *p, const char *end)
{
    static int live[MAX];
    int i, j, count;

    for (; p < end; p += 1 + sizeof(jobjectID)) {
        jobjectID id;

        memcpy(&id, p + 1, sizeof id);
        for (i = 0; i < num_objects; i++)
            live[i] |= objects[i].id == id;
    }
    for (i = 0; i < num_objects; i++) {
        for (j = i, count = 0; j < num_objects; j++)
            if (live[j] && strcmp(objects[i].name, objects[j].name) == 0) {
                count++;
                live[j] = 0;
            }
        if (count > 0)
            printf("%d instances of %s\n", count, objects[i].name);
    }
}

static void sample(JNIEnv *env)
{
    JVMPI_CallFrame top;
    JVMPI_CallTrace trace = { env, 0, &top };
    int i;

    jvmpi->GetCallTrace(&trace, 1);
    if (trace.num_frames == 0)
        return;
    for (i = 0; i < num_hits && hits[i].method != top.method_id; i++)
        ;
    if (i == num_hits)
        hits[num_hits++].method = top.method_id;
    hits[i].count++;
}

static void sampler(void *unused)
{
    int i;

    jvmpi->RawMonitorEnter(timer);
    for (;;) {
        jvmpi->RawMonitorWait(timer, 10);
        if (done)
            break;
        jvmpi->DisableGC();
        jvmpi->RawMonitorEnter(lock);
        for (i = 0; i < num_threads; i++)
            if (jvmpi->ThreadHasRun(threads[i].env))
                sample(threads[i].env);
        jvmpi->RawMonitorExit(lock);
        jvmpi->EnableGC();
    }
    jvmpi->RawMonitorExit(timer);
}

static void finish(void)
{
    JVMPI_HeapDumpArg level = { JVMPI_DUMP_LEVEL_0 };
    const Hit *hottest = hits;
    int i;

    for (i = 0; i < num_hits; i++)
        hottest = hits[i].count > hottest->count ? &hits[i] : hottest;
    if (num_hits > 0) {
        JVMPI_CallFrame frame = { -1, hottest->method };
        printf("most samples:\n");
        print_frame(&frame);
    }
    jvmpi->RequestEvent(JVMPI_EVENT_HEAP_DUMP, &level);
    printf("%s\n", collections > 0 ? "collections were seen" : "no collection");
    fflush(stdout);
}

static void print_call(JVMPI_Event *e, const char *what)
{
    const Method *m = method_of(e->u.method.method_id);
    const char *prefix = option("prefix", "");

    if (m != NULL && strncmp(m->name, prefix, strlen(prefix)) == 0)
        fprintf(stderr, "%s %s %s\n", thread_name(e->env_id), what, m->name);
}

static void notify(JVMPI_Event *e)
{
    if (e->event_type == JVMPI_EVENT_GC_START) { /* the lock is held until GC_FINISH, for OBJECT_FREE */
        jvmpi->RawMonitorEnter(lock);
        collections++;
        return;
    }
    if (e->event_type == JVMPI_EVENT_GC_FINISH) {
        jvmpi->RawMonitorExit(lock);
        return;
    }
    if (e->event_type == JVMPI_EVENT_OBJECT_FREE) {
        int i;
        for (i = 0; i < num_objects; i++)
            if (objects[i].id == e->u.obj_free.obj_id)
                objects[i].id = NULL;
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
    case JVMPI_EVENT_CLASS_LOAD | JVMPI_REQUESTED_EVENT:
        learn_methods(e);
        if (num_classes == MAX)
            abort();
        classes[num_classes].id = e->u.class_load.class_id;
        classes[num_classes++].name = strdup(e->u.class_load.class_name);
        printf("class %s is loaded\n", e->u.class_load.class_name);
        break;
    case JVMPI_EVENT_CLASS_UNLOAD:
        printf("class %s is unloaded\n", class_name(e->u.class_unload.class_id));
        break;
    case JVMPI_EVENT_OBJECT_ALLOC:
        if (e->u.obj_alloc.is_array == JVMPI_NORMAL_OBJECT
            && strncmp(class_name(e->u.obj_alloc.class_id), "Ported", 6) == 0 && num_objects < MAX) {
            objects[num_objects].id = e->u.obj_alloc.obj_id;
            objects[num_objects++].name = (char *)class_name(e->u.obj_alloc.class_id);
        }
        break;
    case JVMPI_EVENT_OBJECT_ALLOC | JVMPI_REQUESTED_EVENT:
        class_of_object = class_name(e->u.obj_alloc.class_id);
        break;
    case JVMPI_EVENT_HEAP_DUMP | JVMPI_REQUESTED_EVENT:
        count_live(e->u.heap_dump.begin, e->u.heap_dump.end);
        break;
    case JVMPI_EVENT_THREAD_START:
        threads[num_threads].env = e->u.thread_start.thread_env_id;
        threads[num_threads++].name = strdup(e->u.thread_start.thread_name);
        printf("thread %s starts\n", e->u.thread_start.thread_name);
        break;
    case JVMPI_EVENT_THREAD_END: {
        int i;
        printf("thread %s ends\n", thread_name(e->env_id));
        for (i = 0; i < num_threads; i++)
            if (threads[i].env == e->env_id)
                threads[i--] = threads[--num_threads];
        break;
    }
    case JVMPI_EVENT_MONITOR_CONTENDED_ENTER:
        print_monitor(e, "wants to enter", e->u.monitor.object);
        break;
    case JVMPI_EVENT_MONITOR_CONTENDED_ENTERED:
        print_monitor(e, "has entered", e->u.monitor.object);
        break;
    case JVMPI_EVENT_MONITOR_WAIT:
        print_monitor(e, "waits for", e->u.monitor_wait.object);
        break;
    case JVMPI_EVENT_METHOD_ENTRY:
        print_call(e, "calls");
        break;
    case JVMPI_EVENT_METHOD_EXIT:
        print_call(e, "leaves");
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        if (strcmp(option("methods", "0"), "1") != 0)
            finish();
        break;
    }
    jvmpi->RawMonitorExit(lock);
    if (e->event_type == JVMPI_EVENT_JVM_INIT_DONE)
        jvmpi->CreateSystemThread("sampler", JVMPI_MAXIMUM_PRIORITY, sampler);
}

ON_LOAD(notify)
{
    static const jint of_methods[] = {
        JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_THREAD_START, JVMPI_EVENT_THREAD_END, JVMPI_EVENT_METHOD_ENTRY,
        JVMPI_EVENT_METHOD_EXIT, 0,
    };
    static const jint of_all[] = {
        JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_CLASS_UNLOAD, JVMPI_EVENT_THREAD_START, JVMPI_EVENT_THREAD_END,
        JVMPI_EVENT_MONITOR_CONTENDED_ENTER, JVMPI_EVENT_MONITOR_CONTENDED_ENTERED, JVMPI_EVENT_MONITOR_WAIT,
        JVMPI_EVENT_GC_START, JVMPI_EVENT_GC_FINISH, JVMPI_EVENT_OBJECT_ALLOC, JVMPI_EVENT_OBJECT_FREE,
        JVMPI_EVENT_JVM_INIT_DONE, JVMPI_EVENT_JVM_SHUT_DOWN, 0,
    };
    const jint *event;

    lock = jvmpi->RawMonitorCreate("_ported");
    timer = jvmpi->RawMonitorCreate("_ported_timer");
    event = strcmp(option("methods", "0"), "1") == 0 ? of_methods : of_all;
    for (; *event != 0; event++)
        enable(*event);
}
