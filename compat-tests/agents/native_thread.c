/*
 * native_thread.c - threads that the agent makes itself and attaches to the JVM.
 *
 * Options: mode=late   makes many that detach when their thread-local storage is gone
 *          mode=arena  hears of arenas only, and makes such a thread when it hears of the first
 */
#include <pthread.h>

#include "call.h"

enum { LATE = 200 };

static pthread_key_t key;

static void detach(void *env)
{
    (*agent_vm)->DetachCurrentThread(agent_vm);
    report("detached env=%#lx", ID(env));
}

static void *attached(void *unused)
{
    JavaVMAttachArgs arguments = { JNI_VERSION_1_2, (char *)"native", NULL };
    JNIEnv *env = NULL;

    if ((*agent_vm)->AttachCurrentThread(agent_vm, (void **)&env, &arguments) != JNI_OK)
        return NULL;
    detach(env);
    return NULL;
}

static void make_key(void)
{
    if (pthread_key_create(&key, detach) != 0)
        abort();
}

/* Thread-local storage goes before the destructors of keys run. */
static void *detached_late(void *unused)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    JNIEnv *env = NULL;

    pthread_once(&once, make_key);
    if ((*agent_vm)->AttachCurrentThread(agent_vm, (void **)&env, NULL) != JNI_OK)
        return NULL;
    pthread_setspecific(key, env);
    return NULL;
}

static void run(void *(*function)(void *))
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, function, NULL) == 0)
        pthread_join(thread, NULL);
}

static void notify(JVMPI_Event *e)
{
    if (e->event_type == JVMPI_EVENT_ARENA_NEW && e->u.new_arena.arena_id == 1)
        run(attached);
    if (e->event_type == JVMPI_EVENT_THREAD_END)
        report("thread_end env=%#lx", ID(e->env_id));
}

static jlong called(JNIEnv *env, const char *what, jobject object)
{
    int i;

    for (i = 0; i < LATE; i++)
        run(detached_late);
    return 0;
}

ON_LOAD(notify)
{
    if (mode_is("arena"))
        enable(JVMPI_EVENT_ARENA_NEW);
    else
        ENABLE(JVMPI_EVENT_THREAD_START, JVMPI_EVENT_THREAD_END);
}
