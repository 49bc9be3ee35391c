/*
 * virtual.c - virtual threads as threads of their own: each begins and ends once, and all events on it
 * name it. The agent keeps its data on a thread in thread-local storage.
 *
 * Options: events=1+3     besides THREAD_START and THREAD_END
 * Commands: "trace" reports that of the calling thread, by the event's name of it; "jni" returns true if a
 * call by the environment that events name has come through; "cpu" time; "suspend",
 * "resume", "status" and "stack" of the thread with this name.
 */
#include <stdatomic.h>

#include "call.h"
#include "methods.h"
#include "threads.h"

/* IsVirtualThread's place in the table, since JNI 21. */
enum { IS_VIRTUAL = 234 };

typedef struct {
    JNIEnv *env;
    jobjectID id;
    int is_virtual;
} Known;

static atomic_long starts, ends, live, unknown, not_fresh;

static Known *known(JNIEnv *env)
{
    Known *k = jvmpi->GetThreadLocalStorage(env);

    if (k != NULL && k->env == env)
        return k;
    if (unknown++ < 10)
        report("unknown env=%#lx", ID(env));
    return NULL;
}

static void started(const JVMPI_Event *e)
{
    JNIEnv *env = e->u.thread_start.thread_env_id;
    Known *k = calloc(1, sizeof *k);

    if (k == NULL)
        abort();
    not_fresh += jvmpi->GetThreadLocalStorage(env) != NULL;
    k->env = env;
    k->id = e->u.thread_start.thread_id;
    k->is_virtual = strcmp(e->u.thread_start.group_name, "VirtualThreads") == 0;
    jvmpi->SetThreadLocalStorage(env, k);
    if (!k->is_virtual)
        return;
    not_fresh += e->env_id != env;
    starts++;
    live++;
}

static void ended(const JVMPI_Event *e)
{
    Known *k = known(e->env_id);

    if (k == NULL)
        return;
    if (k->is_virtual) {
        ends++;
        live--;
    }
    free(k);
}

static void notify(JVMPI_Event *e)
{
    track_threads(e);
    switch (e->event_type) {
    case JVMPI_EVENT_THREAD_START:
        started(e);
        break;
    case JVMPI_EVENT_THREAD_END:
        ended(e);
        break;
    case JVMPI_EVENT_CLASS_LOAD:
        learn_methods(e);
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        report("threads starts=%ld ends=%ld live=%ld not_fresh=%ld unknown=%ld", starts, ends, live,
               not_fresh, unknown);
        break;
    case JVMPI_EVENT_JVM_INIT_DONE:
        break;
    default:
        known(e->env_id);
    }
}

static void frames_of(const char *what, JNIEnv *env)
{
    JVMPI_CallFrame frames[64];
    JVMPI_CallTrace trace = call_trace(env, frames, 64);

    report_frames(what, &trace);
}

static jlong called(JNIEnv *env, const char *what, jobject object)
{
    const char *name = strchr(what, ' ') != NULL ? strchr(what, ' ') + 1 : "";
    Known *k = jvmpi->GetThreadLocalStorage(env);
    JNIEnv *named;

    if (strcmp(what, "cpu") == 0)
        return jvmpi->GetCurrentThreadCpuTime();
    if (k == NULL)
        return -1;
    named = thread_named(name).env;
    if (strcmp(what, "trace") == 0)
        frames_of(what, k->env);
    if (strcmp(what, "jni") == 0) {
        jstring text = (*k->env)->NewStringUTF(k->env, "through");
        jclass type = (*k->env)->GetObjectClass(k->env, text);
        jmethodID length = (*k->env)->GetMethodID(k->env, type, "length", "()I");
        int thrown = (*k->env)->ExceptionCheck(k->env);
        jint characters = (*k->env)->CallIntMethod(k->env, text, length);
        JavaVM *vm = NULL;
        thrown |= (*k->env)->ExceptionCheck(k->env);
        CHECK("another environment", k->env != env && k->env == current_env());
        CHECK("variadic", !thrown && characters == 7);
        CHECK("the VM", (*k->env)->GetJavaVM(k->env, &vm) == JNI_OK && vm == agent_vm);
        CHECK("virtual", ((jboolean (JNICALL *)(JNIEnv *, jobject))((void **)*k->env)[IS_VIRTUAL])(k->env, object));
        CHECK("its object", (*k->env)->IsSameObject(k->env, jvmpi->jobjectID2jobject(k->id), object));
        CHECK("its ID", jvmpi->GetThreadObject(k->env) == k->id);
    }
    if (strncmp(what, "suspend ", 8) == 0)
        return jvmpi->SuspendThread(named), 0;
    if (strncmp(what, "resume ", 7) == 0)
        return jvmpi->ResumeThread(named), 0;
    if (strncmp(what, "status ", 7) == 0)
        return jvmpi->GetThreadStatus(named);
    if (strncmp(what, "stack ", 6) == 0)
        frames_of(name, named);
    return 0;
}

ON_LOAD(notify)
{
    ENABLE(JVMPI_EVENT_THREAD_START, JVMPI_EVENT_THREAD_END, JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_JVM_SHUT_DOWN);
    switch_events(jvmpi->EnableEvent, option("events", ""));
}
