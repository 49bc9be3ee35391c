/*
 * late_work.c - causes events in its THREAD_END handler: a global reference, and a raw monitor that another thread owns
 * until this agent hears that the thread waits for it. Reports each handler that has ended.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "agent.h"

static JVMPI_RawMonitor monitor;
static _Thread_local atomic_int *waits;

static void *own(void *state)
{
    atomic_int *step = state;

    jvmpi->RawMonitorEnter(monitor);
    *step = 1;
    while (*step != 2)
        usleep(1000);
    jvmpi->RawMonitorExit(monitor);
    return NULL;
}

static void contend(void)
{
    atomic_int step = 0;
    pthread_t owner;

    pthread_create(&owner, NULL, own, &step);
    while (step != 1)
        usleep(1000);
    waits = &step;
    jvmpi->RawMonitorEnter(monitor);
    waits = NULL;
    jvmpi->RawMonitorExit(monitor);
    pthread_join(owner, NULL);
}

static void notify(JVMPI_Event *e)
{
    JNIEnv *env = current_env();

    if (e->event_type == JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER && waits != NULL)
        *waits = 2;
    if (e->event_type != JVMPI_EVENT_THREAD_END)
        return;
    (*env)->DeleteGlobalRef(env, (*env)->NewGlobalRef(env, (*env)->FindClass(env, "java/lang/Object")));
    contend();
    report("worked env=%#lx", ID(e->env_id));
}

ON_LOAD(notify)
{
    monitor = jvmpi->RawMonitorCreate("late");
    ENABLE(JVMPI_EVENT_THREAD_END, JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER);
}
