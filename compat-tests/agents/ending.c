/*
 * ending.c - looks at the thread "victim" while it ends, and suspends it. Commands:
 * "hold handler", "hold after": the place where the next victim is held, in its THREAD_END or
 * between that and the end of the thread; "await": waits until it is there; "release": lets it
 * continue.
 * "suspend", "resume": the victim.
 * "look": asks for THREAD_START of the victim, and for a monitor dump, which looks at all threads;
 * returns the result of the first. "reused": returns true if the calling thread has the environment
 * of the last victim. "announced": returns true if the calling thread has had a THREAD_START.
 */
#include <jvmti.h>

#include "call.h"
#include "threads.h"

enum { NOWHERE, HANDLER, AFTER };

static int hold_in;
static Thread victim;
static volatile int is_held, is_released;

static void hold(int place)
{
    if (hold_in != place)
        return;
    is_held = 1;
    WAIT_UNTIL(is_released);
    is_held = 0;
}

static void JNICALL thread_end(jvmtiEnv *jvmti, JNIEnv *env, jthread thread)
{
    if (env == victim.env)
        hold(AFTER);
}

/* JVMTI notifies environments in the order in which they were made: this one after the shim's. */
static void hear_of_ends(void)
{
    jvmtiEventCallbacks callbacks = { .ThreadEnd = thread_end };
    jvmtiEnv *jvmti;

    if ((*agent_vm)->GetEnv(agent_vm, (void **)&jvmti, JVMTI_VERSION_1_2) != JNI_OK
        || (*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof callbacks) != 0
        || (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_THREAD_END, NULL) != 0)
        report("error what=JVMTI");
}

static void notify(JVMPI_Event *e)
{
    if (e->event_type == JVMPI_EVENT_JVM_INIT_DONE)
        hear_of_ends();
    if (e->event_type == JVMPI_EVENT_THREAD_END && e->env_id == thread_named("victim").env) {
        victim = thread_named("victim");
        hold(HANDLER);
    }
    track_threads(e);
}

static jlong called(JNIEnv *env, const char *what, jobject object)
{
    if (strncmp(what, "hold ", 5) == 0) {
        is_released = 0;
        hold_in = strcmp(what, "hold handler") == 0 ? HANDLER : AFTER;
    } else if (strcmp(what, "await") == 0)
        return WAIT_UNTIL(is_held);
    else if (strcmp(what, "release") == 0)
        is_released = 1;
    else if (strcmp(what, "suspend") == 0) {
        jvmpi->DisableGC();
        jvmpi->SuspendThread(victim.env);
    } else if (strcmp(what, "resume") == 0) {
        jvmpi->ResumeThread(victim.env);
        jvmpi->EnableGC();
    } else if (strcmp(what, "look") == 0) {
        jint result = jvmpi->RequestEvent(JVMPI_EVENT_THREAD_START, victim.id);
        jvmpi->RequestEvent(JVMPI_EVENT_MONITOR_DUMP, NULL);
        return result;
    } else if (strcmp(what, "reused") == 0)
        return env == victim.env;
    else if (strcmp(what, "announced") == 0)
        return thread_of(env).env != NULL;
    return 0;
}

ON_LOAD(notify)
{
    ENABLE(JVMPI_EVENT_THREAD_START, JVMPI_EVENT_THREAD_END, JVMPI_EVENT_JVM_INIT_DONE);
}
