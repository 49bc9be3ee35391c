/*
 * local_storage.c - thread-local storage: empty in a new thread, kept until THREAD_END returns,
 * and open to other threads. The thread that ends the VM has it in JVM_SHUT_DOWN too.
 */
#include "call.h"
#include "threads.h"

static long started, fresh, ended, kept;

static void *value_for(const JNIEnv *env)
{
    return (char *)env + 1;
}

static void notify(JVMPI_Event *e)
{
    JNIEnv *env;

    track_threads(e);
    switch (e->event_type) {
    case JVMPI_EVENT_THREAD_START:
        env = e->u.thread_start.thread_env_id;
        __atomic_add_fetch(&started, 1, __ATOMIC_RELAXED);
        __atomic_add_fetch(&fresh, jvmpi->GetThreadLocalStorage(env) == NULL, __ATOMIC_RELAXED);
        jvmpi->SetThreadLocalStorage(env, value_for(env));
        break;
    case JVMPI_EVENT_THREAD_END:
        env = e->env_id;
        __atomic_add_fetch(&ended, 1, __ATOMIC_RELAXED);
        __atomic_add_fetch(&kept, jvmpi->GetThreadLocalStorage(env) == value_for(env), __ATOMIC_RELAXED);
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        env = e->env_id;
        CHECK("kept at the end", jvmpi->GetThreadLocalStorage(env) == value_for(env));
        jvmpi->SetThreadLocalStorage(env, &started);
        CHECK("set at the end", jvmpi->GetThreadLocalStorage(env) == &started);
        report("storage started=%ld fresh=%ld ended=%ld kept=%ld", started, fresh, ended, kept);
    }
}

/* Called by a thread for itself, and by the main thread for the one named "worker". */
static jlong called(JNIEnv *env, const char *what, jobject object)
{
    static int left_by_main;
    JNIEnv *worker = thread_named("worker").env;

    if (strcmp(what, "own") == 0)
        CHECK("own", jvmpi->GetThreadLocalStorage(env) == value_for(env));
    if (strcmp(what, "other") == 0) {
        CHECK("worker is another", worker != NULL && worker != env);
        CHECK("other's", jvmpi->GetThreadLocalStorage(worker) == value_for(worker));
        jvmpi->SetThreadLocalStorage(worker, &left_by_main);
        CHECK("set for other", jvmpi->GetThreadLocalStorage(worker) == &left_by_main);
        CHECK("own is untouched", jvmpi->GetThreadLocalStorage(env) == value_for(env));
    }
    if (strcmp(what, "worker") == 0) {
        CHECK("set by other", jvmpi->GetThreadLocalStorage(env) == &left_by_main);
        jvmpi->SetThreadLocalStorage(env, NULL);
        CHECK("cleared", jvmpi->GetThreadLocalStorage(env) == NULL);
        jvmpi->SetThreadLocalStorage(env, value_for(env));
    }
    return 0;
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    agent_start(vm, options, notify);
    enable(JVMPI_EVENT_THREAD_START);
    enable(JVMPI_EVENT_THREAD_END);
    enable(JVMPI_EVENT_JVM_SHUT_DOWN);
    return JNI_OK;
}
