/*
 * object_requests.c - asks for OBJECT_ALLOC of objects that the program names, from the handler of
 * one for the next, and turns IDs into objects and back. Asks for many of the program's objects one
 * after the other, also for dumps of them.
 */
#include "call.h"

enum { LEVELS = 4 };

static jobjectID watched_class, gone;
static jclass watched;
static volatile int was_freed;
/* The objects that the handler requests next, and the number of requests still to be made. */
static __thread jobjectID chain[LEVELS];
static __thread int level;

/* The objects requested in a run, and the contents of the last event. */
static jobjectID *many;
static int many_count;
static __thread jobjectID told;
static __thread long told_number;
/* The number of them that the handler of the next heap dump requests. */
static int in_heap_dump;

static jint request(jobjectID id)
{
    return jvmpi->RequestEvent(JVMPI_EVENT_OBJECT_ALLOC, id);
}

static void report_object(const JVMPI_Event *e)
{
    report("object_alloc env=%#lx self=%#lx object=%#lx class=%#lx is_array=%d size=%d arena=%d level=%d",
           ID(e->env_id), ID(current_env()), ID(e->u.obj_alloc.obj_id), ID(e->u.obj_alloc.class_id),
           (int)e->u.obj_alloc.is_array, (int)e->u.obj_alloc.size, (int)e->u.obj_alloc.arena_id, level);
}

/* The object of the event at hand. */
static void check_own_object(JNIEnv *env, jobjectID id)
{
    jobject object = jvmpi->jobjectID2jobject(id);

    CHECK("own object", object != NULL && (*env)->IsInstanceOf(env, object, watched));
    CHECK("own object and back", jvmpi->jobject2jobjectID(object) == id);
    CHECK("own object again", request(id) == JVMPI_SUCCESS);
}

/* The ID in an instance's record, and the int that is all of its values. */
static void read_number(const char *record, size_t length)
{
    const unsigned char *value = (const unsigned char *)record + length - 4;

    memcpy(&told, record + 1, sizeof told);
    told_number = (long)value[0] << 24 | (long)value[1] << 16 | (long)value[2] << 8 | (long)value[3];
}

/* Returns true if the request for this one of the many objects succeeds and its event comes. */
static int is_told(int i)
{
    told = NULL;
    return request(many[i]) == JVMPI_SUCCESS && told == many[i];
}

static int is_dumped(int i, long number)
{
    told = NULL;
    return jvmpi->RequestEvent(JVMPI_EVENT_OBJECT_DUMP, many[i]) == JVMPI_SUCCESS && told == many[i]
           && told_number == number;
}

static void ask_in_heap_dump(void)
{
    int i, failures = 0;

    for (i = 0; i < in_heap_dump; i++)
        failures += !is_told(i);
    CHECK("many in a heap dump", failures == 0);
}

static void notify(JVMPI_Event *e)
{
    switch (e->event_type) {
    case JVMPI_EVENT_HEAP_DUMP | JVMPI_REQUESTED_EVENT:
        ask_in_heap_dump();
        break;
    case JVMPI_EVENT_OBJECT_DUMP | JVMPI_REQUESTED_EVENT:
        read_number(e->u.object_dump.data, (size_t)e->u.object_dump.data_len);
        break;
    case JVMPI_EVENT_OBJECT_ALLOC | JVMPI_REQUESTED_EVENT:
        told = e->u.obj_alloc.obj_id;
        if (many != NULL)
            break;
        report_object(e);
        if (level > 0 && level < LEVELS) {
            int inner = level + 1;
            jobjectID next = chain[level];
            level = inner;
            report("nested level=%d result=%d", inner, (int)request(next));
        }
        break;
    case JVMPI_EVENT_OBJECT_ALLOC:
        if (watched_class != NULL && e->u.obj_alloc.class_id == watched_class
            && e->u.obj_alloc.is_array == JVMPI_NORMAL_OBJECT)
            check_own_object(e->env_id, e->u.obj_alloc.obj_id);
        break;
    case JVMPI_EVENT_OBJECT_FREE:
        was_freed |= e->u.obj_free.obj_id == gone;
        break;
    }
}

/* Asks for the object, in its handler for the class, then for that one's class, then the thread. */
static void nested(JNIEnv *env, jobjectID id, jobject object)
{
    jclass type = (*env)->GetObjectClass(env, object);

    chain[1] = jvmpi->jobject2jobjectID(type);
    chain[2] = jvmpi->jobject2jobjectID((*env)->GetObjectClass(env, type));
    chain[3] = jvmpi->GetThreadObject(env);
    level = 1;
    report("nested level=1 result=%d", (int)request(id));
    level = 0;
}

static void check_references(JNIEnv *env, jobjectID id, jobject object)
{
    jobject found = jvmpi->jobjectID2jobject(id);

    CHECK("same object", found != NULL && (*env)->IsSameObject(env, found, object));
    CHECK("local reference", (*env)->GetObjectRefType(env, found) == JNILocalRefType);
    CHECK("same ID", jvmpi->jobject2jobjectID(found) == id);
}

static void check_made_up(jobjectID id)
{
    enum { WIDE = sizeof(uintptr_t) == 8, LARGE = WIDE ? 40 : 30, MOVED = WIDE ? 48 : 28, ANNOUNCED = WIDE ? 56 : 29 };
    uintptr_t n = (uintptr_t)id, one = 1;
    /* Also those that were not given yet, and what an ID would be with other bits set. */
    uintptr_t numbers[] = { 0, 1, 7, 17, n + 1, n + 8, n + (1u << 30), n | one << MOVED, n | one << ANNOUNCED,
                            one << LARGE, ~(uintptr_t)0 - 15 };
    size_t i;

    for (i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        CHECK("made-up ID", request((jobjectID)numbers[i]) == JVMPI_FAIL);
        CHECK("object of a made-up ID", jvmpi->jobjectID2jobject((jobjectID)numbers[i]) == NULL);
    }
}

/* The object reported as "goes" is gone. */
static void check_gone(void)
{
    CHECK("freed", was_freed || !mode_is("all"));
    CHECK("freed ID", request(gone) == JVMPI_FAIL);
    CHECK("object of a freed ID", jvmpi->jobjectID2jobject(gone) == NULL);
}

/* The CPU time of the whole process. */
static double cpu_seconds(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

static double dump_heap(void)
{
    double before = cpu_seconds();

    CHECK("heap dump", jvmpi->RequestEvent(JVMPI_EVENT_HEAP_DUMP, NULL) == JVMPI_SUCCESS);
    return cpu_seconds() - before;
}

/* An object that goes when there are tables of those that were there before, and one that comes. */
static void check_changes(JNIEnv *env, jobjectArray objects, jmethodID collect)
{
    jclass system = (*env)->FindClass(env, "java/lang/System");
    jobject first = (*env)->GetObjectArrayElement(env, objects, 0), another;
    jclass numbered = (*env)->GetObjectClass(env, first);
    jfieldID number = (*env)->GetFieldID(env, numbered, "number", "I");

    CHECK("value", is_dumped(0, 0));
    (*env)->SetIntField(env, first, number, 77);
    CHECK("value after a change", is_dumped(0, 77));
    CHECK("the object of one of many", (*env)->IsSameObject(env, jvmpi->jobjectID2jobject(many[0]), first));

    another = (*env)->AllocObject(env, numbered);
    many[0] = jvmpi->jobject2jobjectID(another);
    CHECK("one that is new", is_told(0) && is_dumped(0, 0));

    (*env)->SetObjectArrayElement(env, objects, 1, NULL);
    (*env)->CallStaticVoidMethod(env, system, collect);
    CHECK("one that is gone", request(many[1]) == JVMPI_FAIL && jvmpi->jobjectID2jobject(many[1]) == NULL);
    CHECK("one that is left", is_told(2) && is_dumped(2, 2));
}

/*
 * Compares the cost of requests for all objects of an array, among many others, with that of a heap
 * dump.
 */
static void ask_for_many(JNIEnv *env, jobjectArray objects)
{
    jclass system = (*env)->FindClass(env, "java/lang/System");
    jmethodID collect = (*env)->GetStaticMethodID(env, system, "gc", "()V");
    double dump, requests, dumps;
    int i, untold = 0, undumped = 0;

    many_count = (*env)->GetArrayLength(env, objects);
    many = calloc((size_t)many_count, sizeof *many);
    for (i = 0; i < many_count; i++) {
        jobject object = (*env)->GetObjectArrayElement(env, objects, i);
        many[i] = jvmpi->jobject2jobjectID(object);
        (*env)->DeleteLocalRef(env, object);
    }
    dump_heap();
    dump = dump_heap();
    in_heap_dump = many_count;
    report("cost of=heap_dump_and_requests dumps=%ld", (long)(dump_heap() / dump));

    jvmpi->DisableGC();
    requests = cpu_seconds();
    for (i = 0; i < many_count; i++)
        untold += !is_told(i);
    dumps = cpu_seconds();
    for (i = 0; i < many_count; i++)
        undumped += !is_dumped(i, i);
    report("cost of=requests dumps=%ld", (long)((dumps - requests) / dump));
    report("cost of=object_dumps dumps=%ld", (long)((cpu_seconds() - dumps) / dump));
    CHECK("many told", untold == 0);
    CHECK("many dumped", undumped == 0);
    check_changes(env, objects, collect);
    jvmpi->EnableGC();
    CHECK("one that is left", is_told(2) && is_dumped(2, 2));
}

static jlong called(JNIEnv *env, const char *what, jobject object)
{
    jobjectID id = jvmpi->jobject2jobjectID(object);

    if (strcmp(what, "watch") == 0) {
        watched = (*env)->NewGlobalRef(env, object);
        watched_class = id;
    } else if (strcmp(what, "goes") == 0)
        gone = id;
    else if (strcmp(what, "gone") == 0) {
        jvmpi->RunGC();
        check_gone();
    } else if (strcmp(what, "nested") == 0)
        nested(env, id, object);
    else if (strcmp(what, "made_up") == 0)
        check_made_up(id);
    else if (strcmp(what, "many") == 0)
        ask_for_many(env, object);
    else {
        report("request what=%s id=%#lx env=%#lx type=%#lx", what, ID(id), ID(env),
               ID(jvmpi->jobject2jobjectID((*env)->GetObjectClass(env, object))));
        report("result what=%s result=%d", what, (int)request(id));
        check_references(env, id, object);
    }
    return 0;
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    agent_start(vm, options, notify);
    if (mode_is("all")) {
        enable(JVMPI_EVENT_OBJECT_ALLOC);
        enable(JVMPI_EVENT_OBJECT_FREE);
    }
    return JNI_OK;
}
