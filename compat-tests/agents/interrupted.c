/*
 * interrupted.c - counts how often ppoll fails with EINTR in a native method while a sampler looks at its thread.
 *
 * Options: suspends=1  the sampler suspends the thread to look at it
 */
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>

#include "call.h"

enum { WAITS = 1000, DEPTH = 8 };

/* The thread to look at, as events name it; how often it was looked at, and how often it had run. */
static _Atomic(JNIEnv *) watched;
static atomic_long looks, has_run;
static atomic_int done;
static JVMPI_RawMonitor timer;
static int suspends;

static void look_at(JNIEnv *env)
{
    JVMPI_CallFrame frames[DEPTH];
    JVMPI_CallTrace trace = { env, 0, frames };

    if (suspends)
        jvmpi->SuspendThread(env);
    if (jvmpi->ThreadHasRun(env)) {
        has_run++;
        jvmpi->GetCallTrace(&trace, DEPTH);
    }
    if (suspends)
        jvmpi->ResumeThread(env);
    looks++;
}

static void sample(void *unused)
{
    jvmpi->RawMonitorEnter(timer);
    while (!done) {
        JNIEnv *env = watched;
        if (env != NULL)
            look_at(env);
        jvmpi->RawMonitorWait(timer, 1);
    }
    jvmpi->RawMonitorExit(timer);
}

/* Waits for a tenth of a millisecond; true if that was interrupted. */
static int is_interrupted(void)
{
    struct timespec time = { 0, 100000 };

    return ppoll(NULL, 0, &time, NULL) < 0 && errno == EINTR;
}

static jlong called(JNIEnv *unused, const char *what, jobject object)
{
    JNIEnv *env;
    long interrupted = 0, before, i;

    if ((*agent_vm)->GetEnv(agent_vm, (void **)&env, JNI_VERSION_1_2) != JNI_OK)
        abort();
    has_run = 0;
    watched = env;
    /* A look that began before the thread came here may send it a signal now. */
    for (before = looks; looks < before + 2;)
        is_interrupted();
    for (i = 0; i < WAITS; i++) {
        volatile int spin;
        interrupted += is_interrupted();
        for (spin = 0; spin < 50000; spin++)
            ;
    }
    report("waits thread=%s interrupted=%ld has_run=%ld", what, interrupted, has_run);
    watched = NULL;
    return 0;
}

static void notify(JVMPI_Event *e)
{
    if (e->event_type == JVMPI_EVENT_JVM_INIT_DONE)
        CHECK("thread", jvmpi->CreateSystemThread("sampler", JVMPI_MAXIMUM_PRIORITY, sample) == JNI_OK);
    else
        done = 1;
}

ON_LOAD(notify)
{
    suspends = atoi(option("suspends", "0"));
    timer = jvmpi->RawMonitorCreate("_interrupted_timer");
    ENABLE(JVMPI_EVENT_JVM_INIT_DONE, JVMPI_EVENT_JVM_SHUT_DOWN);
}
