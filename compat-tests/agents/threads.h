/*
 * threads.h - the threads an agent knows from THREAD_START and THREAD_END.
 */
#ifndef THREADS_H
#define THREADS_H

#include <pthread.h>

#include "agent.h"

typedef struct {
    JNIEnv *env; /* NULL when the entry is free */
    jobjectID id;
    char name[64];
} Thread;

enum { MAX_THREADS = 4096 };

static Thread known_threads[MAX_THREADS];
static int threads_known; /* the entries from here on are free */
static pthread_mutex_t known_threads_lock = PTHREAD_MUTEX_INITIALIZER;

/* Keeps the table; to be called for every event. */
static inline void track_threads(const JVMPI_Event *event)
{
    int starts = event->event_type == JVMPI_EVENT_THREAD_START;
    JNIEnv *wanted = starts ? NULL : event->env_id;
    Thread *thread = known_threads;

    if (!starts && event->event_type != JVMPI_EVENT_THREAD_END)
        return;
    pthread_mutex_lock(&known_threads_lock);
    while (thread < known_threads + MAX_THREADS - 1 && thread->env != wanted)
        thread++;
    if (starts) {
        if (thread == known_threads + threads_known)
            threads_known++;
        thread->env = event->u.thread_start.thread_env_id;
        thread->id = event->u.thread_start.thread_id;
        strncpy(thread->name, event->u.thread_start.thread_name, sizeof thread->name - 1);
    } else if (thread->env == wanted)
        thread->env = NULL;
    pthread_mutex_unlock(&known_threads_lock);
}

/* The live thread with this environment; all zero if there is none. */
static inline Thread thread_of(JNIEnv *env)
{
    Thread found = { NULL, NULL, "" };
    int i;

    pthread_mutex_lock(&known_threads_lock);
    for (i = 0; i < threads_known && env != NULL; i++)
        if (known_threads[i].env == env)
            found = known_threads[i];
    pthread_mutex_unlock(&known_threads_lock);
    return found;
}

/* The live thread of this name; all zero if there is none. */
static inline Thread thread_named(const char *name)
{
    Thread found = { NULL, NULL, "" };
    int i;

    pthread_mutex_lock(&known_threads_lock);
    for (i = 0; i < threads_known; i++)
        if (known_threads[i].env != NULL && strcmp(known_threads[i].name, name) == 0)
            found = known_threads[i];
    pthread_mutex_unlock(&known_threads_lock);
    return found;
}

#endif
