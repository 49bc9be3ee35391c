/*
 * breaker.c - breaks each rule of checked mode, one after the other, and says on standard error which it is
 * about to break.
 */
#include "call.h"

static JVMPI_RawMonitor lock, other, in_collections, signal_lock;
static JNIEnv *volatile victim, *ended;
static volatile int victim_may_end, turned;
static jobjectID freed, unloaded_class;
static jmethodID unloaded_method;
static volatile jobjectID freed_now;
static const char *volatile kept_name;
static __thread const char *hook;

/* The fault of the handler of a requested THREAD_START. */
static __thread enum { NOTHING, WRITE, KEEP, STAY_IN_LOCK, LEAVE_DISABLED } fault;
static int stays_in_collection_lock;

/* The next thing that is done breaks this rule. */
static void now(const char *rule)
{
    char line[128];
    int n = snprintf(line, sizeof line, "step %s\n", rule);

    if (write(2, line, (size_t)n) != n)
        abort();
}

static void nothing(void *unused)
{
}

static void be_victim(void *unused)
{
    victim = current_env();
    jvmpi->RawMonitorEnter(signal_lock);
    while (!victim_may_end) {
        jvmpi->RawMonitorNotifyAll(signal_lock);
        jvmpi->RawMonitorWait(signal_lock, 0);
    }
    jvmpi->RawMonitorExit(signal_lock);
}

static void enter_both(JVMPI_RawMonitor first, JVMPI_RawMonitor second)
{
    jvmpi->RawMonitorEnter(first);
    jvmpi->RawMonitorEnter(second);
    jvmpi->RawMonitorExit(second);
    jvmpi->RawMonitorExit(first);
}

static void turn_order(void *unused)
{
    enter_both(other, lock);
    jvmpi->RawMonitorEnter(signal_lock);
    turned = 1;
    jvmpi->RawMonitorNotifyAll(signal_lock);
    jvmpi->RawMonitorExit(signal_lock);
}

static void request_thread(JNIEnv *env)
{
    jvmpi->DisableGC();
    jvmpi->RequestEvent(JVMPI_EVENT_THREAD_START, jvmpi->GetThreadObject(env));
    jvmpi->EnableGC();
}

static void break_in_on_load(void)
{
    now("mode/in-jvm-onload");
    jvmpi->RunGC();
    now("mode/thread-before-jvm-init-done");
    jvmpi->CreateSystemThread("early", JVMPI_NORMAL_PRIORITY, nothing);
    now("event/unknown");
    jvmpi->EnableEvent(36, NULL);
    now("event/only-requested");
    jvmpi->EnableEvent(JVMPI_EVENT_HEAP_DUMP, NULL);
    now("argument/null");
    jvmpi->RawMonitorDestroy(jvmpi->RawMonitorCreate(NULL));
}

static void break_events(JNIEnv *env)
{
    void (*handler)(JVMPI_Event *) = jvmpi->NotifyEvent;

    now("event/not-requestable");
    jvmpi->RequestEvent(JVMPI_EVENT_GC_START, NULL);
    now("event/no-handler");
    jvmpi->NotifyEvent = NULL;
    request_thread(env);
    jvmpi->NotifyEvent = handler;
    now("event/written");
    fault = WRITE;
    request_thread(env);
    fault = KEEP;
    request_thread(env);
    fault = NOTHING;
    now("event/read-late");
    CHECK("kept name", kept_name[0] != '\0');
}

static void break_gc(JNIEnv *env)
{
    now("gc-enabled/ids");
    jvmpi->GetThreadObject(env);
    jvmpi->DisableGC();
    CHECK("thread object", jvmpi->GetThreadObject(env) != NULL);
    now("gc-disabled/run-gc");
    jvmpi->RunGC();
    now("gc-disabled/create-thread");
    jvmpi->CreateSystemThread("idle", JVMPI_NORMAL_PRIORITY, nothing);
    jvmpi->EnableGC();
    CHECK("a thread", jvmpi->CreateSystemThread("idle", JVMPI_NORMAL_PRIORITY, nothing) == JNI_OK);
    now("gc/enable-without-disable");
    jvmpi->EnableGC();
    /* The handler of GC_START enters the lock. */
    jvmpi->RunGC();
    now("gc/lock-order");
    jvmpi->RawMonitorEnter(in_collections);
    jvmpi->DisableGC();
    jvmpi->RawMonitorExit(in_collections);
    jvmpi->EnableGC();
    now("raw-monitor/not-left-in-gc-finish");
    stays_in_collection_lock = 1;
    jvmpi->RunGC();
    stays_in_collection_lock = 0;
    jvmpi->RawMonitorExit(in_collections);
}

static void break_suspension(JNIEnv *env)
{
    JVMPI_RawMonitor unused = jvmpi->RawMonitorCreate("_unused");

    now("suspend/gc-enabled");
    jvmpi->SuspendThread(victim);
    jvmpi->ResumeThread(victim);
    jvmpi->DisableGC();
    now("suspend/self");
    jvmpi->SuspendThread(env);
    jvmpi->SuspendThread(victim);
    CHECK("status", jvmpi->GetThreadStatus(victim) != 0);
    now("stopped/enter");
    jvmpi->RawMonitorEnter(lock);
    jvmpi->RawMonitorExit(lock);
    now("stopped/function");
    jvmpi->RawMonitorDestroy(unused);
    now("suspend/gc-enabled-too-early");
    jvmpi->EnableGC();
    jvmpi->DisableGC();
    jvmpi->ResumeThread(victim);
    now("suspend/not-suspended");
    jvmpi->ResumeThread(victim);
    jvmpi->EnableGC();
}

__attribute__((noinline)) static void break_monitors(JNIEnv *env)
{
    JVMPI_RawMonitor gone = jvmpi->RawMonitorCreate("_gone");

    jvmpi->RawMonitorDestroy(gone);
    now("raw-monitor/unknown");
    jvmpi->RawMonitorEnter(NULL);
    now("raw-monitor/destroyed");
    jvmpi->RawMonitorEnter(gone);
    now("raw-monitor/exit-not-owner");
    jvmpi->RawMonitorExit(lock);
    now("raw-monitor/wait-not-owner");
    jvmpi->RawMonitorWait(lock, 1);
    now("raw-monitor/notify-not-owner");
    jvmpi->RawMonitorNotifyAll(lock);
    gone = jvmpi->RawMonitorCreate("_used");
    jvmpi->RawMonitorEnter(gone);
    jvmpi->RawMonitorNotifyAll(gone);
    jvmpi->RawMonitorWait(gone, 1);
    now("raw-monitor/destroy-in-use");
    jvmpi->RawMonitorDestroy(gone);
    now("raw-monitor/not-left");
    fault = STAY_IN_LOCK;
    request_thread(env);
    fault = NOTHING;
    jvmpi->RawMonitorExit(lock);
    enter_both(lock, other);
    now("raw-monitor/order");
    jvmpi->CreateSystemThread("turns", JVMPI_NORMAL_PRIORITY, turn_order);
    jvmpi->RawMonitorEnter(signal_lock);
    while (!turned)
        jvmpi->RawMonitorWait(signal_lock, 0);
    jvmpi->RawMonitorExit(signal_lock);
}

static void break_ids(JNIEnv *env)
{
    JVMPI_CallFrame frames[4];
    JVMPI_CallTrace trace = { env, 0, frames };
    volatile int i;

    jvmpi->GetCallTrace(&trace, 4);
    CHECK("a trace", trace.num_frames > 0);
    now("argument/range");
    jvmpi->GetCallTrace(&trace, -1);
    now("thread/null");
    for (i = 0; i < 3; i++)
        jvmpi->GetThreadStatus(NULL);
    now("thread/unknown");
    jvmpi->GetThreadStatus((JNIEnv *)0x1238);
    now("thread/ended");
    jvmpi->GetThreadLocalStorage(ended);
    jvmpi->DisableGC();
    now("object/freed");
    jvmpi->RequestEvent(JVMPI_EVENT_OBJECT_ALLOC, freed);
    now("class/unloaded");
    jvmpi->GetMethodClass(unloaded_method);
    CHECK("its class", jvmpi->GetMethodClass(frames[0].method_id) != NULL);
    now("method/unknown");
    jvmpi->GetMethodClass((jmethodID)0x7ffffff8);
    jvmpi->DisableEvent(JVMPI_EVENT_OBJECT_FREE, NULL);
    now("object/unknown");
    jvmpi->RequestEvent(JVMPI_EVENT_OBJECT_ALLOC, (void *)0x7ffffff0);
    jvmpi->EnableGC();
    /* Only the end of the VM shows it. */
    now("gc/never-enabled");
    fault = LEAVE_DISABLED;
    request_thread(env);
    fault = NOTHING;
}

static jlong called(JNIEnv *env, const char *what, jobject object)
{
    if (strcmp(what, "unloaded and freed") == 0)
        return unloaded_class != NULL && freed != NULL;
    if (strncmp(what, "class-load-hook/", 16) == 0) {
        now(what);
        hook = strdup(what);
    }
    if (strcmp(what, "hooked") == 0)
        CHECK("hooked", hook == NULL);
    if (strcmp(what, "java") == 0) {
        break_events(env);
        break_gc(env);
        break_monitors(env);
        break_suspension(env);
        break_ids(env);
        jvmpi->RawMonitorEnter(signal_lock);
        victim_may_end = 1;
        jvmpi->RawMonitorNotifyAll(signal_lock);
        jvmpi->RawMonitorExit(signal_lock);
    }
    return 0;
}

static void answer(JVMPI_Event *e)
{
    switch (fault) {
    case WRITE:
        e->u.thread_start.thread_name = "another";
        break;
    case KEEP:
        kept_name = e->u.thread_start.thread_name;
        break;
    case STAY_IN_LOCK:
        jvmpi->RawMonitorEnter(lock);
        break;
    case LEAVE_DISABLED:
        jvmpi->DisableGC();
        break;
    case NOTHING:
        break;
    }
}

static void take_class_file(JVMPI_Event *e)
{
    const char *how = hook;
    unsigned char *data = e->u.class_load_hook.class_data, *copy;
    jint length = e->u.class_load_hook.class_data_len;

    hook = NULL;
    if (how != NULL && strcmp(how, "class-load-hook/not-set") == 0)
        return;
    e->u.class_load_hook.new_class_data = data;
    e->u.class_load_hook.new_class_data_len = length;
    if (how != NULL && strcmp(how, "class-load-hook/allocator") == 0) {
        /* Not at the beginning of what malloc returns: to free it would crash. */
        copy = (unsigned char *)malloc((size_t)length + 32) + 16;
        memcpy(copy, data, (size_t)length);
        e->u.class_load_hook.new_class_data = copy;
    } else if (how != NULL) {
        /* The name of the source file; the VM accepts any. */
        ((unsigned char *)memmem(data, (size_t)length, "Rules.java", 10))[0] = 'r';
    } else if (length < 1000) {
        copy = e->u.class_load_hook.malloc_f((unsigned)length);
        memcpy(copy, data, (size_t)length);
        e->u.class_load_hook.new_class_data = copy;
    }
}

static void notify(JVMPI_Event *e)
{
    int i;

    switch (e->event_type) {
    case JVMPI_EVENT_JVM_INIT_DONE:
        jvmpi->RawMonitorEnter(signal_lock);
        jvmpi->CreateSystemThread("victim", JVMPI_NORMAL_PRIORITY, be_victim);
        while (victim == NULL)
            jvmpi->RawMonitorWait(signal_lock, 0);
        jvmpi->RawMonitorExit(signal_lock);
        break;
    case JVMPI_EVENT_THREAD_START | JVMPI_REQUESTED_EVENT:
        answer(e);
        break;
    case JVMPI_EVENT_THREAD_START:
        if (strcmp(e->u.thread_start.thread_name, "ended") == 0)
            ended = e->u.thread_start.thread_env_id;
        break;
    case JVMPI_EVENT_CLASS_LOAD:
        if (strcmp(e->u.class_load.class_name, "Rules$Unloaded") == 0)
            for (i = 0; i < e->u.class_load.num_methods; i++) {
                unloaded_method = e->u.class_load.methods[i].method_id;
                freed_now = e->u.class_load.class_id;
            }
        break;
    case JVMPI_EVENT_CLASS_UNLOAD:
        if (e->u.class_unload.class_id == freed_now)
            unloaded_class = freed_now;
        break;
    case JVMPI_EVENT_OBJECT_FREE:
        if (e->u.obj_free.obj_id != freed_now)
            freed = e->u.obj_free.obj_id;
        break;
    case JVMPI_EVENT_CLASS_LOAD_HOOK:
        take_class_file(e);
        break;
    case JVMPI_EVENT_GC_START:
        jvmpi->RawMonitorEnter(in_collections);
        break;
    case JVMPI_EVENT_GC_FINISH:
        if (!stays_in_collection_lock)
            jvmpi->RawMonitorExit(in_collections);
        break;
    }
}

ON_LOAD(notify)
{
    lock = jvmpi->RawMonitorCreate("_lock");
    other = jvmpi->RawMonitorCreate("_other");
    in_collections = jvmpi->RawMonitorCreate("_in_collections");
    signal_lock = jvmpi->RawMonitorCreate("_signal");
    break_in_on_load();
    ENABLE(JVMPI_EVENT_JVM_INIT_DONE, JVMPI_EVENT_THREAD_START, JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_CLASS_UNLOAD,
           JVMPI_EVENT_OBJECT_ALLOC, JVMPI_EVENT_OBJECT_FREE, JVMPI_EVENT_CLASS_LOAD_HOOK, JVMPI_EVENT_GC_START,
           JVMPI_EVENT_GC_FINISH);
}
