/*
 * object_requests.c - asks for OBJECT_ALLOC of objects that the program names, from the handler of
 * one for the next, and turns IDs into objects and back.
 */
#include "call.h"

enum { LEVELS = 4 };

static jobjectID watched_class, gone;
static jclass watched;
static volatile int was_freed;
/* What the handler is to ask for next, and how many times it still does. */
static __thread jobjectID chain[LEVELS];
static __thread int level;

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

static void notify(JVMPI_Event *e)
{
    switch (e->event_type) {
    case JVMPI_EVENT_OBJECT_ALLOC | JVMPI_REQUESTED_EVENT:
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
    uintptr_t n = (uintptr_t)id;
    /* Also those that were not given yet, and what an ID would be with other bits set. */
    uintptr_t numbers[] = { 0, 1, 7, 17, n + 1, n + 8, n + (1u << 30), n | (uintptr_t)1 << 48,
                            n | (uintptr_t)1 << 56, (uintptr_t)1 << 40, ~(uintptr_t)0 - 15 };
    size_t i;

    for (i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        CHECK("made-up ID", request((jobjectID)numbers[i]) == JVMPI_FAIL);
        CHECK("object of a made-up ID", jvmpi->jobjectID2jobject((jobjectID)numbers[i]) == NULL);
    }
}

/* The object that was told of as "goes" is gone. */
static void check_gone(void)
{
    CHECK("freed", was_freed || !mode_is("all"));
    CHECK("freed ID", request(gone) == JVMPI_FAIL);
    CHECK("object of a freed ID", jvmpi->jobjectID2jobject(gone) == NULL);
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
