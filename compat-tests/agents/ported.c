/*
 * ported.c - prints with JVMPI what the listings of docs/howto/port-to-jvmti.md print with JVMTI. The two are
 * compared.
 *
 * Options: methods=1   prints calls and returns instead, like examples/jvmti/methods.c
 *          prefix=     the classes whose calls are printed
 */
#include "map.h"
#include "methods.h"
#include "threads.h"

static Map classes; /* their names */
static Map objects; /* of the program's classes, each with the name of its class */
static Map hits;    /* how often each method was seen on top */
static int done;
static long collections;
static const char *class_of_object; /* the answer to a request */
static JVMPI_RawMonitor lock, timer;

static const char *class_name(jobjectID id)
{
    const char *name = map_get(&classes, id);

    return name != NULL ? name : "?";
}

static void count(Map *counts, const void *key)
{
    map_put(counts, key, (char *)map_get(counts, key) + 1);
}

static void print_frame(const JVMPI_CallFrame *frame)
{
    const char *name = method_name(frame->method_id);

    printf("  %s:%d\n", name != NULL ? name : "?", (int)frame->lineno);
}

static void print_monitor(JVMPI_Event *e, const char *what, jobjectID object)
{
    JVMPI_CallFrame frames[8];
    int i, depth = call_trace(e->env_id, frames, 8).num_frames;

    class_of_object = "?";
    jvmpi->RequestEvent(JVMPI_EVENT_OBJECT_ALLOC, object);
    printf("%s %s %s\n", thread_of(e->env_id).name, what, class_of_object);
    for (i = 0; i < depth; i++)
        print_frame(&frames[i]);
}

/* Counts the program's objects in a heap dump of level 0, by class. */
static void count_live(const char *p, const char *end)
{
    Map live = { NULL, 0, 0 };
    Slot *slot;

    for (; p < end; p += 1 + sizeof(jobjectID)) {
        jobjectID id;

        memcpy(&id, p + 1, sizeof id);
        if (map_get(&objects, id) != NULL)
            count(&live, map_get(&objects, id));
    }
    MAP_EACH(&live, slot)
        printf("%ld instances of %s\n", (long)(intptr_t)slot->value, (const char *)slot->key);
}

static void sample(JNIEnv *env)
{
    jmethodID top = jvmpi->ThreadHasRun(env) ? top_method(env) : NULL;

    if (top != NULL)
        count(&hits, top);
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
        for (i = 0; i < threads_known; i++)
            if (known_threads[i].env != NULL)
                sample(known_threads[i].env);
        jvmpi->RawMonitorExit(lock);
        jvmpi->EnableGC();
    }
    jvmpi->RawMonitorExit(timer);
}

static void finish(void)
{
    JVMPI_HeapDumpArg level = { JVMPI_DUMP_LEVEL_0 };
    JVMPI_CallFrame hottest = { -1, NULL };
    Slot *slot;

    MAP_EACH(&hits, slot)
        if ((intptr_t)slot->value > (intptr_t)map_get(&hits, hottest.method_id))
            hottest.method_id = (jmethodID)(uintptr_t)slot->key;
    printf("most samples:\n");
    print_frame(&hottest);
    jvmpi->RequestEvent(JVMPI_EVENT_HEAP_DUMP, &level);
    printf("%s\n", collections > 0 ? "collections were seen" : "no collection");
    fflush(stdout);
}

static void print_call(JVMPI_Event *e, const char *what)
{
    const char *name = method_name(e->u.method.method_id), *prefix = option("prefix", "");

    if (name != NULL && strncmp(name, prefix, strlen(prefix)) == 0)
        fprintf(stderr, "%s %s %s\n", thread_of(e->env_id).name, what, name);
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
        map_remove(&objects, e->u.obj_free.obj_id);
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
        map_put(&classes, e->u.class_load.class_id, strdup(e->u.class_load.class_name));
        printf("class %s is loaded\n", e->u.class_load.class_name);
        break;
    case JVMPI_EVENT_CLASS_UNLOAD:
        printf("class %s is unloaded\n", class_name(e->u.class_unload.class_id));
        break;
    case JVMPI_EVENT_OBJECT_ALLOC:
        if (e->u.obj_alloc.is_array == JVMPI_NORMAL_OBJECT
            && strncmp(class_name(e->u.obj_alloc.class_id), "Ported", 6) == 0)
            map_put(&objects, e->u.obj_alloc.obj_id, (void *)class_name(e->u.obj_alloc.class_id));
        break;
    case JVMPI_EVENT_OBJECT_ALLOC | JVMPI_REQUESTED_EVENT:
        class_of_object = class_name(e->u.obj_alloc.class_id);
        break;
    case JVMPI_EVENT_HEAP_DUMP | JVMPI_REQUESTED_EVENT:
        count_live(e->u.heap_dump.begin, e->u.heap_dump.end);
        break;
    case JVMPI_EVENT_THREAD_START:
        track_threads(e);
        printf("thread %s starts\n", e->u.thread_start.thread_name);
        break;
    case JVMPI_EVENT_THREAD_END:
        printf("thread %s ends\n", thread_of(e->env_id).name);
        track_threads(e);
        break;
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
        finish();
        break;
    }
    jvmpi->RawMonitorExit(lock);
    if (e->event_type == JVMPI_EVENT_JVM_INIT_DONE)
        jvmpi->CreateSystemThread("sampler", JVMPI_MAXIMUM_PRIORITY, sampler);
}

ON_LOAD(notify)
{
    lock = jvmpi->RawMonitorCreate("_ported");
    timer = jvmpi->RawMonitorCreate("_ported_timer");
    ENABLE(JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_THREAD_START, JVMPI_EVENT_THREAD_END);
    if (strcmp(option("methods", "0"), "1") == 0)
        ENABLE(JVMPI_EVENT_METHOD_ENTRY, JVMPI_EVENT_METHOD_EXIT);
    else
        ENABLE(JVMPI_EVENT_CLASS_UNLOAD, JVMPI_EVENT_MONITOR_CONTENDED_ENTER, JVMPI_EVENT_MONITOR_CONTENDED_ENTERED,
               JVMPI_EVENT_MONITOR_WAIT, JVMPI_EVENT_GC_START, JVMPI_EVENT_GC_FINISH, JVMPI_EVENT_OBJECT_ALLOC,
               JVMPI_EVENT_OBJECT_FREE, JVMPI_EVENT_JVM_INIT_DONE, JVMPI_EVENT_JVM_SHUT_DOWN);
}
