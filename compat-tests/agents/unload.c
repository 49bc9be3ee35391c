/*
 * unload.c - counts the classes named Victim that are loaded and unloaded, and methods of theirs
 * whose compiled code is. With mode=traced it hears of no classes and knows the methods from call
 * traces only.
 */
#include "call.h"
#include "methods.h"
#include "threads.h"

enum { VICTIMS = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static jobjectID victims[VICTIMS];
static int loaded;
static volatile int unloaded;
static volatile int compiled, discarded;

/* The CLASS_UNLOAD of a victim undefines its ID. */
static void forget(jobjectID id)
{
    int i;

    for (i = 0; i < loaded; i++)
        if (victims[i] == id) {
            victims[i] = NULL;
            unloaded++;
            return;
        }
}

static int is_victim(jmethodID id)
{
    const Method *m = method_of(id);

    return m != NULL && strstr(m->name, "Victim.") != NULL;
}

static void notify(JVMPI_Event *e)
{
    track_threads(e);
    pthread_mutex_lock(&lock);
    switch (e->event_type) {
    case JVMPI_EVENT_CLASS_LOAD:
        learn_methods(e);
        if (strstr(e->u.class_load.class_name, "Victim") != NULL && loaded < VICTIMS)
            victims[loaded++] = e->u.class_load.class_id;
        break;
    case JVMPI_EVENT_CLASS_UNLOAD:
        report("class_unload env=%#lx known_thread=%d", ID(e->env_id), is_known_thread(e->env_id));
        forget(e->u.class_unload.class_id);
        break;
    case JVMPI_EVENT_COMPILED_METHOD_LOAD:
        compiled += is_victim(e->u.compiled_method_load.method_id);
        break;
    case JVMPI_EVENT_COMPILED_METHOD_UNLOAD:
        discarded += is_victim(e->u.compiled_method_unload.method_id);
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
        JVMPI_CallTrace trace = { env, 0, frames };
        jvmpi->GetCallTrace(&trace, 8);
        return trace.num_frames;
    }
    return strcmp(what, "unloaded") == 0 ? unloaded : strcmp(what, "compiled") == 0 ? compiled : discarded;
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    agent_start(vm, options, notify);
    enable(JVMPI_EVENT_THREAD_START);
    enable(JVMPI_EVENT_THREAD_END);
    if (mode_is("traced"))
        return JNI_OK;
    enable(JVMPI_EVENT_CLASS_LOAD);
    enable(JVMPI_EVENT_CLASS_UNLOAD);
    if (mode_is("compiled")) {
        enable(JVMPI_EVENT_COMPILED_METHOD_LOAD);
        enable(JVMPI_EVENT_COMPILED_METHOD_UNLOAD);
    }
    return JNI_OK;
}
