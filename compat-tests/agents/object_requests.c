/*
 * object_requests.c - asks for OBJECT_ALLOC of many of the program's objects, one after the other, and for dumps of
 * them.
 */
#include "call.h"

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
        failures += !is_told(i) || !is_dumped(i, i);
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
        break;
    }
}

static void check_made_up(jobjectID id)
{
    enum { WIDE = sizeof(uintptr_t) == 8, LARGE = WIDE ? 40 : 30, MOVED = WIDE ? 48 : 28, ANNOUNCED = WIDE ? 56 : 29 };
    uintptr_t n = (uintptr_t)id, one = 1;
    /* Also those that were not given yet, and what an ID would be with other bits set. */
    uintptr_t numbers[] = { 0, 1, 7, 17, n + 1, n + 8, n + (1u << 30), n | one << MOVED, n | one << ANNOUNCED,
                            one << LARGE, ~(uintptr_t)0 - 15 };
    size_t i;

    for (i = 0; i < sizeof numbers / sizeof *numbers; i++)
        CHECK("made-up IDs", request((jobjectID)numbers[i]) == JVMPI_FAIL
              && jvmpi->jobjectID2jobject((jobjectID)numbers[i]) == NULL);
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
    check_made_up(many[0]);
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
    ask_for_many(env, object);
    return 0;
}

ON_LOAD(notify)
{
    if (mode_is("all"))
        ENABLE(JVMPI_EVENT_OBJECT_ALLOC, JVMPI_EVENT_OBJECT_FREE);
}
