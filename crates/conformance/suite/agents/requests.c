/*
 * requests.c - RequestEvent. No event is enabled: what comes was asked for.
 */
#include "conform.h"

/* What the last request has brought. */
static struct {
    int events;
    JVMPI_Event event;
    char name[256];
    JNIEnv *on;
    jint dumped;
    unsigned char tag;
} got;
/* How deep requests are nested, and what the handlers ask for. */
static int depth, deepest, nesting;
static jobjectID nested_object;
static JNIEnv *dead_env;

static void notify(JVMPI_Event *e)
{
    got.events++;
    got.event = *e;
    got.on = current();
    if (e->event_type == (JVMPI_EVENT_CLASS_LOAD | JVMPI_REQUESTED_EVENT))
        strncpy(got.name, e->u.class_load.class_name, sizeof got.name - 1);
    if (e->event_type == (JVMPI_EVENT_THREAD_START | JVMPI_REQUESTED_EVENT))
        strncpy(got.name, e->u.thread_start.thread_name, sizeof got.name - 1);
    if (e->event_type == (JVMPI_EVENT_OBJECT_DUMP | JVMPI_REQUESTED_EVENT)) {
        got.dumped = e->u.object_dump.data_len;
        got.tag = (unsigned char)e->u.object_dump.data[0];
    }
    if (nesting) {
        jint next = e->event_type == (JVMPI_EVENT_CLASS_LOAD | JVMPI_REQUESTED_EVENT) ? JVMPI_EVENT_OBJECT_ALLOC
            : e->event_type == (JVMPI_EVENT_OBJECT_ALLOC | JVMPI_REQUESTED_EVENT) ? JVMPI_EVENT_OBJECT_DUMP
            : e->event_type == (JVMPI_EVENT_OBJECT_DUMP | JVMPI_REQUESTED_EVENT) ? JVMPI_EVENT_HEAP_DUMP : 0;

        depth++;
        if (depth > deepest)
            deepest = depth;
        if (next != 0)
            expect_int("requests-010", "result of a nested request",
                       jvmpi->RequestEvent(next, next == JVMPI_EVENT_HEAP_DUMP ? NULL : nested_object),
                       JVMPI_SUCCESS);
        depth--;
    }
}

static jint request(jint type, void *argument)
{
    memset(&got, 0, sizeof got);
    return jvmpi->RequestEvent(type, argument);
}

/* One event of this type, marked as requested, on this thread. */
static void expect_one(const char *id, jint type, void *argument)
{
    expect_int(id, "result", request(type, argument), JVMPI_SUCCESS);
    expect_int(id, "events", got.events, 1);
    expect_int(id, "type", got.event.event_type, type | JVMPI_REQUESTED_EVENT);
    expect(id, got.on == current() && got.event.env_id == got.on, "it comes on another thread, or names one");
}

static void expect_none(const char *id, jint type, void *argument, jint result)
{
    char what[64];

    sprintf(what, "result for type %d", (int)type);
    expect_int(id, what, request(type, argument), result);
    expect_int(id, "events", got.events, 0);
}

static void bad_arguments(jobjectID object, jobjectID thread_class)
{
    static const jint types[4] = { JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_THREAD_START, JVMPI_EVENT_OBJECT_ALLOC,
                                   JVMPI_EVENT_OBJECT_DUMP };
    JVMPI_HeapDumpArg level;
    jint type;
    int i;

    for (i = 0; i < 4; i++) {
        expect_none("requests-007", types[i], NULL, JVMPI_FAIL);
        expect_none("requests-008", types[i], (void *)0x7ffffff0, JVMPI_FAIL);
    }
    done("requests-007");
    done("requests-008");
    expect_none("requests-009", JVMPI_EVENT_CLASS_LOAD, object, JVMPI_FAIL);
    expect_none("requests-009", JVMPI_EVENT_THREAD_START, thread_class, JVMPI_FAIL);
    done("requests-009");
    level.heap_dump_level = JVMPI_DUMP_LEVEL_2 + 1;
    expect_none("requests-012", JVMPI_EVENT_HEAP_DUMP, &level, JVMPI_FAIL);
    level.heap_dump_level = -1;
    expect_none("requests-012", JVMPI_EVENT_HEAP_DUMP, &level, JVMPI_FAIL);
    done("requests-012");
    for (type = -1; type <= JVMPI_MAX_EVENT_TYPE_VAL + 1; type++)
        if (type != JVMPI_EVENT_CLASS_LOAD && type != JVMPI_EVENT_THREAD_START && type != JVMPI_EVENT_OBJECT_ALLOC
            && type != JVMPI_EVENT_OBJECT_DUMP && type != JVMPI_EVENT_HEAP_DUMP && type != JVMPI_EVENT_MONITOR_DUMP)
            expect_none("requests-014", type, object, JVMPI_NOT_AVAILABLE);
    done("requests-014");
}

static void dumps(void)
{
    expect_one("requests-005", JVMPI_EVENT_HEAP_DUMP, NULL);
    expect_int("requests-005", "level", got.event.u.heap_dump.dump_level, JVMPI_DUMP_LEVEL_2);
    expect("requests-005", got.event.u.heap_dump.end > got.event.u.heap_dump.begin, "the dump is empty");
    done("requests-005");
    expect_one("requests-006", JVMPI_EVENT_MONITOR_DUMP, NULL);
    expect("requests-006", got.event.u.monitor_dump.num_traces > 0, "no traces");
    done("requests-006");
}

static jint called(JNIEnv *env, const char *what, jint number, jobject object)
{
    jobjectID id = jvmpi->jobject2jobjectID(object);
    jobjectID class_id = object != NULL ? jvmpi->jobject2jobjectID((*env)->GetObjectClass(env, object)) : NULL;

    if (strcmp(what, "class") == 0) {
        expect_one("requests-001", JVMPI_EVENT_CLASS_LOAD, id);
        expect("requests-001", got.event.u.class_load.class_id == id, "another class_id");
        expect_text("requests-001", "name", got.name, "Requests");
        done("requests-001");
        nesting = 1;
        nested_object = id;
        request(JVMPI_EVENT_CLASS_LOAD, id);
        nesting = 0;
        expect_int("requests-010", "levels", deepest, 4);
        done("requests-010");
    } else if (strcmp(what, "thread") == 0) {
        expect_one("requests-002", JVMPI_EVENT_THREAD_START, id);
        expect("requests-002", got.event.u.thread_start.thread_id == id, "another thread_id");
        expect_text("requests-002", "name", got.name, "the other thread");
        expect("requests-002", got.event.u.thread_start.thread_env_id != env
               && jvmpi->GetThreadObject(got.event.u.thread_start.thread_env_id) == id,
               "thread_env_id is not that thread");
        done("requests-002");
        expect_one("requests-017", JVMPI_EVENT_MONITOR_DUMP, NULL);
        expect_one("requests-017", JVMPI_EVENT_MONITOR_DUMP, NULL);
        done("requests-017");
        dead_env = got.event.u.thread_start.thread_env_id;
    } else if (strcmp(what, "new thread") == 0) {
        expect_none("requests-013", JVMPI_EVENT_THREAD_START, id, JVMPI_FAIL);
    } else if (strcmp(what, "dead thread") == 0) {
        expect_none("requests-013", JVMPI_EVENT_THREAD_START, id, JVMPI_FAIL);
        done("requests-013");
    } else if (strcmp(what, "object") == 0) {
        expect_one("requests-003", JVMPI_EVENT_OBJECT_ALLOC, id);
        expect("requests-003", got.event.u.obj_alloc.obj_id == id, "another obj_id");
        expect("requests-003", got.event.u.obj_alloc.class_id == class_id, "another class_id");
        done("requests-003");
        expect_one("requests-004", JVMPI_EVENT_OBJECT_DUMP, id);
        expect("requests-004", got.dumped > 0 && got.tag == JVMPI_GC_INSTANCE_DUMP, "it has no record");
        done("requests-004");
        bad_arguments(id, class_id);
        dumps();
    } else if (strcmp(what, "class of classes") == 0) {
        expect_one("requests-011", JVMPI_EVENT_OBJECT_ALLOC, id);
        expect("requests-011", got.event.u.obj_alloc.class_id == NULL, "its class is not NULL");
        done("requests-011");
    } else if (strcmp(what, "primitive type") == 0) {
        expect_none("requests-018", JVMPI_EVENT_CLASS_LOAD, id, JVMPI_FAIL);
        done("requests-018");
    } else if (strcmp(what, "class object") == 0) {
        expect_one("requests-015", JVMPI_EVENT_OBJECT_ALLOC, id);
        expect("requests-015", got.event.u.obj_alloc.class_id == class_id, "its class is not java.lang.Class");
        expect_int("requests-015", "is_array", got.event.u.obj_alloc.is_array, JVMPI_NORMAL_OBJECT);
        done("requests-015");
    }
    return 0;
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    start(vm, notify);
    expect_int("requests-016", "a heap dump in JVM_OnLoad", jvmpi->RequestEvent(JVMPI_EVENT_HEAP_DUMP, NULL), JVMPI_FAIL);
    expect_int("requests-016", "events", got.events, 0);
    done("requests-016");
    return JNI_OK;
}
