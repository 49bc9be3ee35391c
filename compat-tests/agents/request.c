/*
 * request.c - asks for CLASS_LOAD and THREAD_START of objects that the program names, and from the
 * handler of one asks for the next.
 */
#include "call.h"

enum { LEVELS = 5 };

static __thread int level;
static jobjectID known_class, known_thread;

/* At each level asks for the other event, once. */
static void ask_further(void)
{
    if (level == 0 || level >= LEVELS)
        return;
    if (level++ % 2 == 1)
        report("nested level=%d result=%d", level, (int)jvmpi->RequestEvent(JVMPI_EVENT_THREAD_START, known_thread));
    else
        report("nested level=%d result=%d", level, (int)jvmpi->RequestEvent(JVMPI_EVENT_CLASS_LOAD, known_class));
}

static void notify(JVMPI_Event *e)
{
    switch (e->event_type) {
    case JVMPI_EVENT_CLASS_LOAD | JVMPI_REQUESTED_EVENT:
        report("class_load env=%#lx self=%#lx name=%s methods=%d class=%#lx", ID(e->env_id),
               ID(current_env()), q(e->u.class_load.class_name), (int)e->u.class_load.num_methods,
               ID(e->u.class_load.class_id));
        ask_further();
        break;
    case JVMPI_EVENT_THREAD_START | JVMPI_REQUESTED_EVENT:
        report("thread_start env=%#lx self=%#lx name=%s thread=%#lx thread_env=%#lx", ID(e->env_id),
               ID(current_env()), q(e->u.thread_start.thread_name), ID(e->u.thread_start.thread_id),
               ID(e->u.thread_start.thread_env_id));
        ask_further();
        break;
    default:
        report("unasked type=%d", (int)e->event_type);
    }
}

static jlong called(JNIEnv *env, const char *what, jobject object)
{
    jint type = strcmp(what, "thread") == 0 ? JVMPI_EVENT_THREAD_START : JVMPI_EVENT_CLASS_LOAD;
    jobjectID id;
    jint result;

    jvmpi->DisableGC();
    id = jvmpi->jobject2jobjectID(object);
    if (strcmp(what, "nested") == 0) {
        known_class = id;
        known_thread = jvmpi->GetThreadObject(env);
        level = 1;
    }
    result = jvmpi->RequestEvent(type, id);
    level = 0;
    report("requested what=%s id=%#lx env=%#lx result=%d", what, ID(id), ID(env), (int)result);
    jvmpi->EnableGC();
    return result;
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    agent_start(vm, options, notify);
    return JNI_OK;
}
