/*
 * arenas.c - objects that move and arenas that go. The VM is told to have collections move objects:
 * "copying", all to a new arena with new IDs, or "generational", to a second arena where they stay.
 */
#include "conform.h"

enum { OBJECTS = 100, ARENAS = 1024 };

static const char *model;
static struct {
    jobjectID id;
    jint arena;
    int moves, freed;
} objects[OBJECTS];
static volatile int n, in_collection, outside, unknown_arena, unnamed, wrong_arena, moves, deletes, dead_arena;
static int is_new[ARENAS], is_deleted[ARENAS];
static jobjectID old_id;
/* The thread that remembers objects; others may allocate meanwhile. */
static JNIEnv *volatile remembering;

static int is_known(jint arena)
{
    return arena >= 0 && arena < ARENAS && is_new[arena] && !is_deleted[arena];
}

static void moved(const JVMPI_Event *e)
{
    int i;

    moves++;
    outside += !in_collection;
    unknown_arena += !is_known(e->u.obj_move.arena_id) || !is_known(e->u.obj_move.new_arena_id);
    for (i = 0; i < n; i++)
        if (objects[i].id == e->u.obj_move.obj_id) {
            wrong_arena += objects[i].arena != e->u.obj_move.arena_id;
            if (i == 0)
                old_id = objects[i].id;
            objects[i].id = e->u.obj_move.new_obj_id;
            objects[i].arena = e->u.obj_move.new_arena_id;
            objects[i].moves++;
            return;
        }
}

static void notify(JVMPI_Event *e)
{
    jint arena;
    int i;

    switch (e->event_type) {
    case JVMPI_EVENT_ARENA_NEW:
        arena = e->u.new_arena.arena_id;
        unnamed += e->u.new_arena.arena_name == NULL;
        if (arena >= 0 && arena < ARENAS) {
            is_new[arena] = 1;
            is_deleted[arena] = 0;
        }
        break;
    case JVMPI_EVENT_ARENA_DELETE:
        arena = e->u.delete_arena.arena_id;
        deletes++;
        outside += !in_collection;
        unknown_arena += !is_known(arena);
        if (arena >= 0 && arena < ARENAS)
            is_deleted[arena] = 1;
        for (i = 0; i < n; i++)
            if (objects[i].arena == arena && !objects[i].freed)
                objects[i].freed = 1;
        break;
    case JVMPI_EVENT_OBJECT_MOVE:
        moved(e);
        break;
    case JVMPI_EVENT_OBJECT_FREE:
        for (i = 0; i < n; i++)
            if (objects[i].id == e->u.obj_free.obj_id)
                objects[i].freed = 1;
        break;
    case JVMPI_EVENT_OBJECT_ALLOC:
    case JVMPI_EVENT_OBJECT_ALLOC | JVMPI_REQUESTED_EVENT:
        unknown_arena += !is_known(e->u.obj_alloc.arena_id);
        if (remembering == e->env_id && n < OBJECTS) {
            objects[n].id = e->u.obj_alloc.obj_id;
            objects[n].arena = e->u.obj_alloc.arena_id;
            n++;
        }
        break;
    case JVMPI_EVENT_GC_START:
        in_collection = 1;
        break;
    case JVMPI_EVENT_GC_FINISH:
        in_collection = 0;
    }
}

static void remember(JNIEnv *env, jobjectArray array, int count)
{
    int i;

    n = 0;
    remembering = env;
    for (i = 0; i < count; i++) {
        jobject object = (*env)->GetObjectArrayElement(env, array, i);

        jvmpi->RequestEvent(JVMPI_EVENT_OBJECT_ALLOC, jvmpi->jobject2jobjectID(object));
        (*env)->DeleteLocalRef(env, object);
    }
    remembering = NULL;
}

static void collected(JNIEnv *env, jobjectArray array, int count)
{
    int i, is_copying = strcmp(model, "copying") == 0, moved_all = 1, same = 1, arenas = 1, once = 1;

    jvmpi->RunGC();
    jvmpi->RunGC();
    for (i = 0; i < count; i++) {
        jobject object = (*env)->GetObjectArrayElement(env, array, i);

        moved_all &= objects[i].moves > 0;
        once &= objects[i].moves == 1;
        same &= jvmpi->jobject2jobjectID(object) == objects[i].id && !objects[i].freed;
        arenas &= is_known(objects[i].arena) && (is_copying || objects[i].arena == 2);
        (*env)->DeleteLocalRef(env, object);
    }
    if (is_copying) {
        judge("arenas-001", n == count && unknown_arena == 0 && unnamed == 0, "an event names an arena that is not there");
        judge("arenas-002", n == count && moved_all && !once, "an object that lives is not told to move each time");
        judge("arenas-003", n == count && moved_all && same, "new_obj_id is not the object's ID");
        judge("arenas-004", moved_all && old_id != NULL && old_id != objects[0].id && jvmpi->jobjectID2jobject(old_id) == NULL,
              "the old ID is still an object's");
        judge("arenas-005", moves > 0 && arenas && wrong_arena == 0, "the arenas are not those that it was in and is in");
        judge("arenas-006", deletes > 0 && moves > 0 && outside == 0, "it comes outside of a collection");
    } else {
        judge("arenas-010", moved_all && same && old_id == objects[0].id, "the ID is another one");
        judge("arenas-011", once && arenas && wrong_arena == 0, "it does not move to the second arena, once");
    }
}

/* All objects are garbage. */
static void dropped(void)
{
    int i, j, freed = 0;

    for (j = 0; j < 1000 && freed < n; j++) {
        jvmpi->RunGC();
        pause_ms(1);
        for (i = freed = 0; i < n; i++)
            freed += objects[i].freed;
    }
    if (strcmp(model, "copying") == 0)
        judge("arenas-007", n > 0 && freed == n, "they are not in an arena that goes");
}

static jint called(JNIEnv *env, const char *what, jint number, jobject object)
{
    if (strcmp(what, "remember") == 0)
        remember(env, object, number);
    else if (strcmp(what, "collect") == 0)
        collected(env, object, number);
    else if (strcmp(what, "dropped") == 0)
        dropped();
    return 0;
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    model = options[0] == 'c' ? "copying" : "generational";
    start(vm, notify);
    enable(JVMPI_EVENT_OBJECT_ALLOC);
    enable(JVMPI_EVENT_OBJECT_FREE);
    enable(JVMPI_EVENT_OBJECT_MOVE);
    enable(JVMPI_EVENT_ARENA_NEW);
    enable(JVMPI_EVENT_ARENA_DELETE);
    enable(JVMPI_EVENT_GC_START);
    enable(JVMPI_EVENT_GC_FINISH);
    return JNI_OK;
}
