/*
 * unload.c - counts the loaded and unloaded classes named Victim. With mode=traced it gets no events of classes and
 * knows the methods from call traces only. With mode=called it counts the calls of Victim.step and Second.leap.
 */
#include "call.h"
#include "map.h"
#include "methods.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Map victims; /* with themselves as values */
static volatile int unloaded;
/* Entries less exits, too. */
static volatile int steps, leaps, open_calls;

static int is_called(const JVMPI_Event *e, const char *name)
{
    const char *called = method_name(e->u.method.method_id);

    return called != NULL && strcmp(called, name) == 0;
}

static void notify(JVMPI_Event *e)
{
    pthread_mutex_lock(&lock);
    switch (e->event_type) {
    case JVMPI_EVENT_CLASS_LOAD:
        learn_methods(e);
        if (strstr(e->u.class_load.class_name, "Victim") != NULL || strstr(e->u.class_load.class_name, "Second") != NULL)
            map_put(&victims, e->u.class_load.class_id, e->u.class_load.class_id);
        break;
    case JVMPI_EVENT_CLASS_UNLOAD:
        /* It undefines the ID. */
        unloaded += map_remove(&victims, e->u.class_unload.class_id) != NULL;
        break;
    case JVMPI_EVENT_METHOD_ENTRY:
        steps += is_called(e, "Unload$Victim.step");
        leaps += is_called(e, "Unload$Second.leap");
        open_calls++;
        break;
    case JVMPI_EVENT_METHOD_EXIT:
        open_calls--;
        break;
    }
    pthread_mutex_unlock(&lock);
}

static jlong called(JNIEnv *env, const char *what, jobject object)
{
    if (strcmp(what, "disable") == 0)
        jvmpi->DisableGC();
    if (strcmp(what, "enable") == 0)
        jvmpi->EnableGC();
    if (strcmp(what, "collect") == 0)
        jvmpi->RunGC();
    if (strcmp(what, "trace") == 0) {
        JVMPI_CallFrame frames[8];
        return call_trace(env, frames, 8).num_frames;
    }
    if (strcmp(what, "steps") == 0)
        return steps;
    if (strcmp(what, "leaps") == 0)
        return leaps;
    if (strcmp(what, "open") == 0)
        return open_calls;
    return unloaded;
}

ON_LOAD(notify)
{
    if (!mode_is("traced"))
        ENABLE(JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_CLASS_UNLOAD);
    if (mode_is("called"))
        ENABLE(JVMPI_EVENT_METHOD_ENTRY, JVMPI_EVENT_METHOD_EXIT);
}
