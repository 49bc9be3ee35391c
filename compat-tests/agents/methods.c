/*
 * methods.c - counts calls by method, and checks that exits belong to entries.
 *
 * Options: events=1+2+3   enabled in JVM_OnLoad
 *          prefix=NAME    reports the methods of the classes with this prefix
 *          late=1+2+3     the events of the commands, if those are others
 *          off=3+2+1      those that are disabled, in this order, if they are others
 *          when=NAME      enables them when a class with this prefix is loaded
 *          allocations=1  OBJECT_ALLOC too: objects belong to the innermost method entered
 *          tops=1         the method that is entered is on top of the call trace
 *          count=0        only watches the nesting, for programs that make many calls
 * Commands: "enable" and "disable" the events; "events": the number so far on this thread; "depth": the
 * number of methods that the thread has entered and not left; "receiver": true if the last METHOD_ENTRY2 of
 * Calls$Receiver on this thread named the object; "register": gives the class its native methods, "register
 * anew" gives it others, "unregister" takes them away; "memory": the memory in use.
 */
#include <stdatomic.h>

#include "call.h"
#include "methods.h"
#include "natives.h"

enum { DEPTH = 1 << 16, CONSTRUCTED = 64 };

typedef struct Count {
    struct Count *next;
    const Method *method;
    long entries, entries2, exits, receivers, allocations;
    /* The number of constructors entered with receivers of the method. */
    long constructors;
} Count;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Count *counts[METHOD_BUCKETS];
static const char *events, *prefix, *when;
static int counting, pairs, tops;
static atomic_long all_entries, all_exits, not_on_top, not_nested, unknown, left_open, allocated, misplaced;

/* The methods that a thread has entered and not left. */
typedef struct {
    long events;
    int depth;
    jmethodID stack[DEPTH];
    jobjectID receiver;
    unsigned constructors;
    jobjectID constructed[CONSTRUCTED];
} Own;

/* The data of a thread, in the VM's place for it: a virtual thread takes it to another carrier. */
static Own *own(JNIEnv *env)
{
    Own *thread = jvmpi->GetThreadLocalStorage(env);

    if (thread == NULL) {
        thread = calloc(1, sizeof *thread);
        if (thread == NULL)
            abort();
        jvmpi->SetThreadLocalStorage(env, thread);
    }
    return thread;
}

static Count *count_of(jmethodID id)
{
    const Method *method = method_of(id);
    Count **bucket = &counts[bucket_of(id) - known_methods], *c = *bucket;

    if (method == NULL) {
        unknown++;
        return NULL;
    }
    while (c != NULL && c->method != method)
        c = c->next;
    if (c == NULL) {
        c = calloc(1, sizeof *c);
        if (c == NULL)
            abort();
        c->next = *bucket;
        c->method = method;
        *bucket = c;
    }
    return c;
}

/*
 * Returns the number of the thread's last constructors that were entered with the object; 0 for a constructor
 * that is entered itself.
 */
static int constructors_of(Own *thread, const Method *method, jobjectID object)
{
    int i, n = 0;

    if (strstr(method->name, ".<init>") != NULL) {
        if (strncmp(method->name, prefix, strlen(prefix)) == 0)
            thread->constructed[thread->constructors++ % CONSTRUCTED] = object;
        return 0;
    }
    for (i = 0; i < CONSTRUCTED; i++)
        n += object != NULL && thread->constructed[i] == object;
    return n;
}

static void count(Own *thread, const JVMPI_Event *e)
{
    Count *c;

    pthread_mutex_lock(&lock);
    c = count_of(e->u.method.method_id);
    if (c != NULL && e->event_type == JVMPI_EVENT_METHOD_ENTRY)
        c->entries++;
    else if (c != NULL && e->event_type == JVMPI_EVENT_METHOD_EXIT)
        c->exits++;
    else if (c != NULL) {
        c->entries2++;
        c->receivers += e->u.method_entry2.obj_id != NULL;
        c->constructors += constructors_of(thread, c->method, e->u.method_entry2.obj_id);
        if (strcmp(c->method->name, "Calls$Receiver.touch") == 0)
            thread->receiver = e->u.method_entry2.obj_id;
    }
    pthread_mutex_unlock(&lock);
}

static void check_top(const JVMPI_Event *e)
{
    jmethodID top = top_method(e->env_id);

    if (top != e->u.method.method_id && not_on_top++ < 10)
        report("not_on_top entered=%s top=%s", q(method_name(e->u.method.method_id)), q(method_name(top)));
}

static void entry(Own *thread, const JVMPI_Event *e)
{
    all_entries++;
    if (tops)
        check_top(e);
    if (thread->depth < DEPTH)
        thread->stack[thread->depth] = e->u.method.method_id;
    thread->depth++;
}

static void leave(Own *thread, const JVMPI_Event *e)
{
    all_exits++;
    if (!pairs)
        return;
    thread->depth--;
    if (thread->depth < 0 || (thread->depth < DEPTH && thread->stack[thread->depth] != e->u.method.method_id)) {
        if (not_nested++ < 10)
            report("not_nested left=%s entered=%s", q(method_name(e->u.method.method_id)),
                   q(thread->depth >= 0 ? method_name(thread->stack[thread->depth]) : NULL));
        thread->depth = thread->depth < 0 ? 0 : thread->depth;
    }
}

/* The method that allocates is the one on top of the call trace. */
static void place(const Own *thread, const JVMPI_Event *e)
{
    jmethodID entered = thread->depth > 0 && thread->depth <= DEPTH ? thread->stack[thread->depth - 1] : NULL;
    jmethodID id = top_method(e->env_id);
    const char *top = method_name(id);

    if (top == NULL)
        return;
    pthread_mutex_lock(&lock);
    count_of(id)->allocations++;
    pthread_mutex_unlock(&lock);
    /* The classes of lambda expressions report no calls. */
    if (entered != NULL && strncmp(top, prefix, strlen(prefix)) == 0 && strstr(top, "$$Lambda") == NULL) {
        allocated++;
        if (id != entered && misplaced++ < 10)
            report("misplaced entered=%s top=%s", q(method_name(entered)), q(top));
    }
}

static void report_counts(void)
{
    int i;
    const Count *c;

    for (i = 0; i < METHOD_BUCKETS; i++)
        for (c = counts[i]; c != NULL; c = c->next)
            if (strncmp(c->method->name, prefix, strlen(prefix)) == 0)
                report("calls method=%s entries=%ld entries2=%ld exits=%ld receivers=%ld"
                       " constructors=%ld allocations=%ld",
                       q(c->method->name), c->entries, c->entries2, c->exits, c->receivers,
                       c->constructors, c->allocations);
    report("allocations placed=%ld misplaced=%ld", (long)allocated, (long)misplaced);
    report("total entries=%ld exits=%ld not_on_top=%ld not_nested=%ld unknown=%ld open=%ld", (long)all_entries,
           (long)all_exits, (long)not_on_top, (long)not_nested, (long)unknown, (long)left_open);
}

static void notify(JVMPI_Event *e)
{
    Own *thread = own(e->env_id);

    switch (e->event_type) {
    case JVMPI_EVENT_CLASS_LOAD:
        learn_methods(e);
        if (when != NULL && strncmp(e->u.class_load.class_name, when, strlen(when)) == 0)
            switch_events(jvmpi->EnableEvent, option("late", events));
        return;
    case JVMPI_EVENT_THREAD_END:
        left_open += thread->depth;
        jvmpi->SetThreadLocalStorage(e->env_id, NULL);
        free(thread);
        return;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        pthread_mutex_lock(&lock);
        report_counts();
        pthread_mutex_unlock(&lock);
        return;
    case JVMPI_EVENT_OBJECT_ALLOC:
        place(thread, e);
        return;
    case JVMPI_EVENT_METHOD_ENTRY:
        entry(thread, e);
        break;
    case JVMPI_EVENT_METHOD_EXIT:
        leave(thread, e);
    }
    if (e->env_id != current_env())
        report("wrong_thread type=%d env=%#lx self=%#lx", (int)e->event_type, ID(e->env_id),
               ID(current_env()));
    thread->events++;
    if (counting)
        count(thread, e);
}

static jlong called(JNIEnv *env, const char *what, jobject object)
{
    if (strcmp(what, "enable") == 0)
        switch_events(jvmpi->EnableEvent, option("late", events));
    else if (strcmp(what, "disable") == 0)
        switch_events(jvmpi->DisableEvent, option("off", option("late", events)));
    else if (strcmp(what, "register") == 0)
        register_as(env, object, (void *)registered);
    else if (strcmp(what, "register anew") == 0)
        register_as(env, object, (void *)registered_anew);
    else if (strcmp(what, "unregister") == 0 && (*env)->UnregisterNatives(env, object) != JNI_OK)
        (*env)->FatalError(env, "the natives stay registered");
    else if (strcmp(what, "depth") == 0)
        return own(env)->depth;
    else if (strcmp(what, "memory") == 0)
        return (jlong)memory_in_use();
    else if (strcmp(what, "receiver") == 0)
        return own(env)->receiver != NULL && jvmpi->jobject2jobjectID(object) == own(env)->receiver;
    /* A program may call before the agent is attached. */
    return jvmpi != NULL ? own(env)->events : 0;
}

ON_LOAD(notify)
{
    events = option("events", "");
    prefix = option("prefix", "");
    when = option("when", NULL);
    counting = atoi(option("count", "1"));
    tops = atoi(option("tops", "0"));
    pairs = strstr(option("late", events), "1") != NULL;
    ENABLE(JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_THREAD_END, JVMPI_EVENT_JVM_SHUT_DOWN);
    if (atoi(option("allocations", "0")))
        enable(JVMPI_EVENT_OBJECT_ALLOC);
    switch_events(jvmpi->EnableEvent, events);
}
