/*
 * rules.h - the live entities according to the events so far, and the rules of every event. It names
 * only live entities that were defined, and defines none twice. The actions of a collection are
 * reported between GC_START and GC_FINISH, on one thread of the system.
 *
 * keep_rules() is to be called for every event, with OBJECT_ALLOC, OBJECT_FREE, OBJECT_MOVE, the
 * arenas', classes', threads' and collections' events enabled in JVM_OnLoad. The caller sees to it
 * that only one thread at a time is in here. A broken rule is reported in a line `violation`.
 */
#ifndef RULES_H
#define RULES_H

#include "map.h"

typedef struct {
    char *name;
    const char *kept; /* the name in CLASS_LOAD, which some agents do not copy */
    long instances; /* objects alive that were announced with this class: arrays of it too */
    int unloaded;
} Class;

typedef struct {
    Class *class; /* NULL for an array of a primitive type */
    jint arena, is_array, size;
} Object;

/* The classes of Class objects and methods are kept for ever, to say what broke a rule. */
static Map objects, classes, methods, threads, arenas;
static long violations, objects_seen, objects_freed, objects_moved, brackets;
static unsigned long greatest_id;
/* True if the IDs of objects that are gone may be used again. */
static int ids_come_again;
static int primitive_classes;

/* The collection being reported: its thread of the system, 0 for none, and the thread named in the
   events. */
static struct {
    long thread;
    JNIEnv *env;
    int wrong;             /* one violation in each is enough */
    long classes_unloaded; /* and not yet freed */
} bracket;

static inline long os_thread(void)
{
    static __thread long id;

    return id != 0 ? id : (id = (long)gettid());
}

/* The rule is a literal: of each, the first few are reported. */
static inline void violation(const JVMPI_Event *e, const char *rule, const void *id)
{
    static Map broken;
    const Class *class = map_get(&classes, id);
    intptr_t times = (intptr_t)map_get(&broken, rule) + 1;

    map_put(&broken, rule, (void *)times);
    violations++;
    if (times <= 4)
        report("violation rule=\"%s\" type=%#x id=%#lx class=%s env=%#lx self=%#lx thread=%ld", rule,
               (unsigned)e->event_type, ID(id), q(class != NULL ? class->name : NULL), ID(e->env_id),
               ID(current_env()), os_thread());
}

/* One bit for each ID below 2^32: whether it was ever defined. */
static inline int mark_defined(jobjectID id, int set)
{
    static unsigned char bits[1 << 25];
    uint64_t n = (uint64_t)(uintptr_t)id / 16;
    int before;

    if (n >= 8 * sizeof bits)
        return 0;
    before = bits[n / 8] >> n % 8 & 1;
    bits[n / 8] |= (unsigned char)(set << n % 8);
    return before;
}

/* The class is alive. */
static inline Class *named_class(const JVMPI_Event *e, jobjectID id)
{
    Class *class = map_get(&classes, id);

    if (class == NULL)
        violation(e, "names a class that no CLASS_LOAD defined", id);
    else if (class->unloaded)
        violation(e, "names a class that was unloaded", id);
    else if (e->event_type != JVMPI_EVENT_CLASS_UNLOAD && strcmp(class->kept, class->name) != 0)
        violation(e, "the name of a class has changed while it lives", id);
    return class;
}

/* The object, which may be a Class object, is alive. */
static inline void named_object(const JVMPI_Event *e, jobjectID id)
{
    const Class *class;

    if (map_get(&objects, id) != NULL)
        return;
    class = map_get(&classes, id);
    if (class == NULL)
        violation(e, mark_defined(id, 0) ? "names an object that is gone" : "names an object that was not defined", id);
    else if (class->unloaded)
        violation(e, "names the Class object of a class that was unloaded", id);
}

static inline void named_method(const JVMPI_Event *e, jmethodID id)
{
    const Class *class = map_get(&methods, id);

    if (class == NULL)
        violation(e, "names a method that no CLASS_LOAD defined", id);
    else if (class->unloaded)
        violation(e, "names a method of a class that was unloaded", id);
}

static inline void named_arena(const JVMPI_Event *e, jint arena)
{
    if (map_get(&arenas, (void *)(intptr_t)arena) == NULL)
        violation(e, "names an arena that is not there", (void *)(intptr_t)arena);
}

static inline void object_allocated(const JVMPI_Event *e, int requested)
{
    jobjectID id = e->u.obj_alloc.obj_id, class_id = e->u.obj_alloc.class_id;
    jint is_array = e->u.obj_alloc.is_array;
    int primitives = is_array >= JVMPI_BOOLEAN && is_array <= JVMPI_LONG;
    Class *class = class_id != NULL ? named_class(e, class_id) : NULL;
    int is_class = map_get(&classes, id) != NULL
        || (class != NULL && is_array == JVMPI_NORMAL_OBJECT && strcmp(class->name, "java.lang.Class") == 0);
    Object *object;

    named_arena(e, e->u.obj_alloc.arena_id);
    if (is_array != JVMPI_NORMAL_OBJECT && is_array != JVMPI_CLASS && !primitives)
        violation(e, "is_array is no type", id);
    /* Compact headers, the default from JDK 27 on, have 8 bytes. */
    if (e->u.obj_alloc.size < 8)
        violation(e, "smaller than an object's header", id);
    if (id == NULL || (uintptr_t)id % 16 != 0) {
        violation(e, "no object ID", id);
        return;
    }
    if (requested) {
        named_object(e, id);
        return;
    }
    /* Classes of the primitive types and void are never loaded: nothing else can define them. */
    if (is_class && (map_get(&classes, id) != NULL || ++primitive_classes > 9)) {
        violation(e, "an unasked OBJECT_ALLOC of a Class object", id);
        return;
    }
    if (primitives != (class_id == NULL))
        violation(e, "a class where there is none, or none where there is one", id);
    if (map_get(&objects, id) != NULL)
        violation(e, "an object is announced twice", id);
    else if (mark_defined(id, 1) && !ids_come_again)
        violation(e, "the ID of an object that is gone is used again", id);
    object = malloc(sizeof *object);
    if (object == NULL)
        abort();
    *object = (Object){ class, e->u.obj_alloc.arena_id, is_array, e->u.obj_alloc.size };
    if (class != NULL)
        class->instances++;
    map_put(&objects, id, object);
    objects_seen++;
    if (ID(id) > greatest_id)
        greatest_id = ID(id);
}

/* Something that belongs into a collection. */
static inline void in_bracket(const JVMPI_Event *e)
{
    const char *wrong = bracket.thread == 0 ? "outside GC_START and GC_FINISH"
        : bracket.thread != os_thread() ? "not on the thread of GC_START"
        : bracket.env != e->env_id ? "env_id is not that of GC_START"
        : map_get(&threads, e->env_id) == NULL ? "env_id of a collection is no thread that is there"
        : jvmpi->GetThreadLocalStorage(e->env_id) == NULL
            ? "env_id of a collection is a thread without thread-local storage" : NULL;

    if (wrong != NULL && bracket.wrong++ == 0)
        violation(e, wrong, e->env_id);
}

static inline void object_gone(jobjectID id)
{
    Object *object = map_remove(&objects, id);

    if (object->class != NULL)
        object->class->instances--;
    objects_freed++;
    free(object);
}

static inline void object_freed(const JVMPI_Event *e)
{
    jobjectID id = e->u.obj_free.obj_id;
    const Class *class = map_get(&classes, id);

    in_bracket(e);
    if (map_get(&objects, id) != NULL)
        object_gone(id);
    else if (class == NULL)
        violation(e, mark_defined(id, 0) ? "frees an object that is gone" : "frees an object that was not defined", id);
    else if (!class->unloaded)
        violation(e, "frees the Class object of a class before CLASS_UNLOAD", id);
    else {
        map_remove(&classes, id);
        bracket.classes_unloaded--;
    }
}

static inline void object_moved(const JVMPI_Event *e)
{
    jobjectID id = e->u.obj_move.obj_id, new_id = e->u.obj_move.new_obj_id;
    Object *object = map_get(&objects, id);

    in_bracket(e);
    named_arena(e, e->u.obj_move.arena_id);
    named_arena(e, e->u.obj_move.new_arena_id);
    if (object == NULL) {
        violation(e, "moves an object that is not there, or a Class object", id);
        return;
    }
    if (object->arena != e->u.obj_move.arena_id)
        violation(e, "moves an object out of an arena that it is not in", id);
    object->arena = e->u.obj_move.new_arena_id;
    objects_moved++;
    if (new_id == id)
        return;
    if (mark_defined(new_id, 1))
        violation(e, "moves an object to an ID that was used before", new_id);
    map_remove(&objects, id);
    map_put(&objects, new_id, object);
}

static inline void arena_made(const JVMPI_Event *e)
{
    jint arena = e->u.new_arena.arena_id;

    if (map_get(&arenas, (void *)(intptr_t)arena) != NULL)
        violation(e, "an arena is announced twice", (void *)(intptr_t)arena);
    map_put(&arenas, (void *)(intptr_t)arena, &arenas);
    report("arena_new arena=%d name=%s", (int)arena, q(e->u.new_arena.arena_name));
}

static inline void arena_deleted(const JVMPI_Event *e)
{
    jint arena = e->u.delete_arena.arena_id;
    jobjectID *left = malloc((objects.used + 1) * sizeof *left);
    size_t n = 0;
    Slot *slot;

    in_bracket(e);
    named_arena(e, arena);
    if (left == NULL)
        abort();
    MAP_EACH(&objects, slot)
        if (((Object *)slot->value)->arena == arena)
            left[n++] = (jobjectID)(uintptr_t)slot->key;
    while (n > 0)
        object_gone(left[--n]);
    free(left);
    map_remove(&arenas, (void *)(intptr_t)arena);
}

static inline void class_loaded(const JVMPI_Event *e, int requested)
{
    jobjectID id = e->u.class_load.class_id;
    Class *class = map_get(&classes, id);
    int i;

    if (id == NULL || (uintptr_t)id % 16 != 0)
        violation(e, "no class ID", id);
    else if (requested && class == NULL)
        violation(e, "a requested CLASS_LOAD of a class that was not announced", id);
    if (requested || id == NULL)
        return;
    if (class != NULL)
        violation(e, "a class is announced twice", id);
    else if (map_get(&objects, id) != NULL || (mark_defined(id, 1) && !ids_come_again))
        violation(e, "the ID of a class was used before", id);
    class = calloc(1, sizeof *class);
    if (class == NULL || (class->name = strdup(e->u.class_load.class_name)) == NULL)
        abort();
    class->kept = e->u.class_load.class_name;
    map_put(&classes, id, class);
    for (i = 0; i < e->u.class_load.num_methods; i++)
        map_put(&methods, e->u.class_load.methods[i].method_id, class);
}

static inline void class_unloaded(const JVMPI_Event *e)
{
    Class *class = named_class(e, e->u.class_unload.class_id);

    in_bracket(e);
    if (class == NULL)
        return;
    if (class->instances != 0)
        violation(e, "CLASS_UNLOAD before OBJECT_FREE of all instances", e->u.class_unload.class_id);
    class->unloaded = 1;
    bracket.classes_unloaded++;
}

static inline void bracket_began(const JVMPI_Event *e)
{
    if (bracket.thread != 0)
        violation(e, "a collection inside another", NULL);
    bracket.thread = os_thread();
    bracket.env = e->env_id;
    bracket.wrong = 0;
    bracket.classes_unloaded = 0;
    in_bracket(e);
}

static inline void bracket_ended(const JVMPI_Event *e)
{
    in_bracket(e);
    if (bracket.classes_unloaded != 0)
        violation(e, "CLASS_UNLOAD without OBJECT_FREE of the Class object", NULL);
    bracket.thread = 0;
    brackets++;
}

static inline int is_of_collection(jint type)
{
    return type == JVMPI_EVENT_GC_START || type == JVMPI_EVENT_GC_FINISH
        || type == JVMPI_EVENT_OBJECT_FREE || type == JVMPI_EVENT_OBJECT_MOVE
        || type == JVMPI_EVENT_ARENA_DELETE || type == JVMPI_EVENT_CLASS_UNLOAD
        || (type == JVMPI_EVENT_ARENA_NEW && bracket.thread == os_thread());
}

/* The object that the calling thread announced last before its own THREAD_START. */
static __thread jobjectID announced_early;

/*
 * Of a thread that is there, and sent by it. Before its THREAD_START a thread announces its Thread
 * object, the classes for that and the arena where it lies, and nothing else.
 */
static inline void of_thread(const JVMPI_Event *e, jint type)
{
    /* The thread that ends the JVM has ended itself by then. */
    int there = type == JVMPI_EVENT_JVM_SHUT_DOWN || map_get(&threads, e->env_id) != NULL;
    /* So it announces classes that the VM has not reported in the name of another thread. */
    int left = type == JVMPI_EVENT_CLASS_LOAD && map_get(&threads, current_env()) == NULL;

    if (e->env_id == NULL || (e->env_id != current_env() && !left))
        violation(e, "env_id is not the thread that sends the event", e->env_id);
    if (there || type == JVMPI_EVENT_CLASS_LOAD || type == JVMPI_EVENT_ARENA_NEW)
        return;
    if (type != JVMPI_EVENT_OBJECT_ALLOC || announced_early != NULL)
        violation(e, "of a thread that is not there", e->env_id);
    else
        announced_early = e->u.obj_alloc.obj_id;
}

static inline void thread_started(const JVMPI_Event *e, int requested)
{
    JNIEnv *env = e->u.thread_start.thread_env_id;
    jobjectID id = e->u.thread_start.thread_id;

    named_object(e, id);
    if (requested)
        return;
    if (map_get(&threads, env) != NULL)
        violation(e, "a thread is announced twice", env);
    if (env == e->env_id && announced_early != NULL && announced_early != id)
        violation(e, "a thread announced an object before its THREAD_START", announced_early);
    if (env == e->env_id)
        announced_early = NULL;
    map_put(&threads, env, env);
    jvmpi->SetThreadLocalStorage(env, env);
}

/* Every method of the calling thread's stack is known. */
static inline void check_stack(const JVMPI_Event *e)
{
    JVMPI_CallFrame frames[32];
    JVMPI_CallTrace trace = { e->env_id, -1, frames };
    int i;

    jvmpi->GetCallTrace(&trace, 32);
    for (i = 0; i < trace.num_frames; i++)
        named_method(e, frames[i].method_id);
}

static inline void keep_rules(const JVMPI_Event *e)
{
    static int over;
    int requested = (e->event_type & JVMPI_REQUESTED_EVENT) != 0;
    jint type = e->event_type & ~JVMPI_REQUESTED_EVENT;

    if (over && !requested)
        violation(e, "after JVM_SHUT_DOWN", NULL);
    if (type == JVMPI_EVENT_THREAD_START)
        thread_started(e, requested);
    if (!is_of_collection(type))
        of_thread(e, type);
    switch (type) {
    case JVMPI_EVENT_OBJECT_ALLOC:
        object_allocated(e, requested);
        if (objects_seen % 256 == 0)
            check_stack(e);
        break;
    case JVMPI_EVENT_OBJECT_FREE:
        object_freed(e);
        break;
    case JVMPI_EVENT_OBJECT_MOVE:
        object_moved(e);
        break;
    case JVMPI_EVENT_ARENA_NEW:
        arena_made(e);
        break;
    case JVMPI_EVENT_ARENA_DELETE:
        arena_deleted(e);
        break;
    case JVMPI_EVENT_CLASS_LOAD:
        class_loaded(e, requested);
        break;
    case JVMPI_EVENT_CLASS_UNLOAD:
        class_unloaded(e);
        break;
    case JVMPI_EVENT_THREAD_END:
        map_remove(&threads, e->env_id);
        break;
    case JVMPI_EVENT_GC_START:
        bracket_began(e);
        break;
    case JVMPI_EVENT_GC_FINISH:
        bracket_ended(e);
        break;
    case JVMPI_EVENT_METHOD_ENTRY:
    case JVMPI_EVENT_METHOD_EXIT:
        named_method(e, e->u.method.method_id);
        break;
    case JVMPI_EVENT_METHOD_ENTRY2:
        named_method(e, e->u.method_entry2.method_id);
        if (e->u.method_entry2.obj_id != NULL)
            named_object(e, e->u.method_entry2.obj_id);
        break;
    case JVMPI_EVENT_COMPILED_METHOD_LOAD:
        named_method(e, e->u.compiled_method_load.method_id);
        break;
    case JVMPI_EVENT_JNI_GLOBALREF_ALLOC:
    case JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC:
        named_object(e, e->u.jni_globalref_alloc.obj_id);
        break;
    case JVMPI_EVENT_MONITOR_CONTENDED_ENTER:
    case JVMPI_EVENT_MONITOR_CONTENDED_ENTERED:
    case JVMPI_EVENT_MONITOR_CONTENDED_EXIT:
        named_object(e, e->u.monitor.object);
        break;
    case JVMPI_EVENT_MONITOR_WAIT:
    case JVMPI_EVENT_MONITOR_WAITED:
        if (e->u.monitor_wait.object != NULL)
            named_object(e, e->u.monitor_wait.object);
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        over = 1;
        report("kept violations=%ld objects=%ld freed=%ld moved=%ld alive=%zu brackets=%ld classes=%zu"
               " threads=%zu greatest=%lu", violations, objects_seen, objects_freed, objects_moved, objects.used,
               brackets, classes.used, threads.used, greatest_id);
        break;
    }
}

#endif
