/*
 * checker.c - checks that every event keeps the rules of rules.h, and counts allocated and
 * collected objects, for a program that knows the right numbers.
 *
 * Options: mode=all   enables every event but INSTRUCTION_START, not only those about objects
 *          mode=monitors  also enables those of Java monitors and JNI references
 *          hold=1     keeps its lock from GC_START to GC_FINISH, as real agents do
 *          again=1    allows that IDs of the dead are given again
 *          late=1     enables OBJECT_ALLOC only when the program says so
 *          late=2     ARENA_NEW too
 */
#include "call.h"
#include "rules.h"
#include "tally.h"

static JVMPI_RawMonitor lock;
static int holds;
static volatile long unloaded, dumps;
static volatile jlong used_objects, used_space, total_space;
static volatile int has_elements, may_release;

static int is_named(jobjectID class_id, const char *name)
{
    const Class *class = map_get(&classes, class_id);

    return class != NULL && strcmp(class->name, name) == 0;
}

/*
 * Reports the state at JVM_INIT_DONE, and the number of objects before most classes. Some classes
 * come only with the first of their objects: those in the VM's archive that are not linked.
 */
static void report_replay(const JVMPI_Event *e)
{
    enum { MOST = 300 };
    static long early = -1;

    if (early < 0 && classes.used == MOST)
        early = objects_seen;
    if (e->event_type == JVMPI_EVENT_JVM_INIT_DONE)
        report("replayed classes=%zu objects=%ld early=%ld", classes.used, objects_seen, early);
}

static void look_at(JVMPI_Event *e)
{
    keep_rules(e);
    switch (e->event_type) {
    case JVMPI_EVENT_OBJECT_ALLOC:
        count_allocation(e);
        break;
    case JVMPI_EVENT_CLASS_UNLOAD:
        unloaded += is_named(e->u.class_unload.class_id, "Unload$Victim");
        break;
    case JVMPI_EVENT_GC_FINISH:
        used_objects = e->u.gc_info.used_objects;
        used_space = e->u.gc_info.used_object_space;
        total_space = e->u.gc_info.total_object_space;
        break;
    }
    report_replay(e);
}

static int is_in_stopped_mode(const JVMPI_Event *e)
{
    return e->event_type == JVMPI_EVENT_OBJECT_FREE || e->event_type == JVMPI_EVENT_OBJECT_MOVE
        || e->event_type == JVMPI_EVENT_ARENA_DELETE || e->event_type == JVMPI_EVENT_CLASS_UNLOAD;
}

static void notify(JVMPI_Event *e)
{
    if (!holds || (!is_in_stopped_mode(e) && e->event_type != JVMPI_EVENT_GC_FINISH))
        jvmpi->RawMonitorEnter(lock);
    look_at(e);
    if (!holds || (!is_in_stopped_mode(e) && e->event_type != JVMPI_EVENT_GC_START))
        jvmpi->RawMonitorExit(lock);
}

/*
 * "objects" or "arrays" of a class, or "elements" with a type and a number: arrays of that many
 * elements. Their headers are 12 to 24 bytes, their ends rounded up to 8.
 */
static Sum sum_named(const char *what, jobject object)
{
    static const int widths[] = { [JVMPI_BYTE] = 1, [JVMPI_INT] = 4, [JVMPI_LONG] = 8 };
    jobjectID class_id = object != NULL ? jvmpi->jobject2jobjectID(object) : NULL;
    int type, elements;
    Sum sum;

    jvmpi->RawMonitorEnter(lock);
    if (sscanf(what, "elements %d %d", &type, &elements) == 2)
        sum = sum_of(NULL, type, elements * widths[type] + 12, elements * widths[type] + 31);
    else
        sum = sum_of(class_id, strcmp(what, "arrays") == 0 ? JVMPI_CLASS : JVMPI_NORMAL_OBJECT, 0, INT32_MAX);
    jvmpi->RawMonitorExit(lock);
    return sum;
}

static jlong instances(jobject type)
{
    jobjectID id = jvmpi->jobject2jobjectID(type);
    const Class *class;
    jlong n;

    jvmpi->RawMonitorEnter(lock);
    class = map_get(&classes, id);
    n = class != NULL ? class->instances : -1;
    jvmpi->RawMonitorExit(lock);
    return n;
}

static void clear(void)
{
    jvmpi->RawMonitorEnter(lock);
    clear_tallies();
    jvmpi->RawMonitorExit(lock);
}

/* Level 1 is the one that shows every object and reference, and not what is in it. */
static jlong dump(void)
{
    JVMPI_HeapDumpArg level = { JVMPI_DUMP_LEVEL_1 };

    dumps += jvmpi->RequestEvent(JVMPI_EVENT_HEAP_DUMP, &level) == JVMPI_SUCCESS;
    return dumps;
}

/* Has the elements of an array until the program calls "release". */
static void hold(JNIEnv *env, jobject array)
{
    void *elements = (*env)->GetPrimitiveArrayCritical(env, array, NULL);

    has_elements = 1;
    CHECK("release", WAIT_UNTIL(may_release));
    (*env)->ReleasePrimitiveArrayCritical(env, array, elements, JNI_ABORT);
}

static jlong called(JNIEnv *env, const char *what, jobject object)
{
    if (strncmp(what, "count ", 6) == 0)
        return sum_named(what + 6, object).count;
    if (strncmp(what, "sizes ", 6) == 0)
        return sum_named(what + 6, object).sizes;
    if (strncmp(what, "size ", 5) == 0)
        return sum_named(what + 5, object).size;
    if (strcmp(what, "clear") == 0)
        clear();
    if (strcmp(what, "allocations") == 0)
        ENABLE(JVMPI_EVENT_ARENA_NEW, JVMPI_EVENT_OBJECT_ALLOC);
    if (strcmp(what, "reference") == 0)
        (*env)->DeleteGlobalRef(env, (*env)->NewGlobalRef(env, object));
    if (strcmp(what, "instances") == 0)
        return instances(object);
    if (strcmp(what, "run_gc") == 0)
        jvmpi->RunGC();
    if (strcmp(what, "id") == 0)
        return (jlong)(uintptr_t)jvmpi->jobject2jobjectID(object);
    if (strcmp(what, "dump") == 0)
        return dump();
    if (strcmp(what, "hold") == 0)
        hold(env, object);
    if (strcmp(what, "release") == 0)
        may_release = 1;
    return strcmp(what, "brackets") == 0 ? brackets
        : strcmp(what, "holds") == 0 ? has_elements
        : strcmp(what, "unloaded") == 0 ? unloaded
        : strcmp(what, "dumps") == 0 ? dumps
        : strcmp(what, "alive") == 0 ? (jlong)objects.used
        : strcmp(what, "used_objects") == 0 ? used_objects
        : strcmp(what, "used_space") == 0 ? used_space
        : strcmp(what, "total_space") == 0 ? total_space : 0;
}

ON_LOAD(notify)
{
    static const jint about_objects[] = {
        JVMPI_EVENT_OBJECT_ALLOC, JVMPI_EVENT_ARENA_NEW, JVMPI_EVENT_OBJECT_FREE,
        JVMPI_EVENT_OBJECT_MOVE, JVMPI_EVENT_ARENA_DELETE, JVMPI_EVENT_GC_START, JVMPI_EVENT_GC_FINISH,
        JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_CLASS_UNLOAD, JVMPI_EVENT_THREAD_START,
        JVMPI_EVENT_THREAD_END, JVMPI_EVENT_JVM_INIT_DONE, JVMPI_EVENT_JVM_SHUT_DOWN,
    };
    size_t i;

    holds = atoi(option("hold", "0"));
    ids_come_again = atoi(option("again", "0"));
    lock = jvmpi->RawMonitorCreate("_checker");
    for (i = atoi(option("late", "0")); i < sizeof about_objects / sizeof *about_objects; i++)
        enable(about_objects[i]);
    for (i = 1; mode_is("monitors") && i <= JVMPI_MAX_EVENT_TYPE_VAL; i++)
        if ((i >= JVMPI_EVENT_JNI_GLOBALREF_ALLOC && i <= JVMPI_EVENT_JNI_WEAK_GLOBALREF_FREE)
            || (i >= JVMPI_EVENT_MONITOR_CONTENDED_ENTER && i <= JVMPI_EVENT_MONITOR_WAITED))
            enable((jint)i);
    for (i = 1; mode_is("all") && i <= JVMPI_MAX_EVENT_TYPE_VAL; i++)
        if (i != JVMPI_EVENT_INSTRUCTION_START)
            jvmpi->EnableEvent((jint)i, NULL);
}
