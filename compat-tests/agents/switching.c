/*
 * switching.c - events that are enabled and disabled by several threads at once, and by one that
 * the VM does not know: what was decided last is what comes.
 */
#include <pthread.h>

#include "call.h"

/* Each thread has some of the events to itself; several events come from the same source. */
enum { THREADS = 4, TOGGLES = 4 };

static const jint events[THREADS][3] = {
    { JVMPI_EVENT_METHOD_ENTRY, JVMPI_EVENT_MONITOR_WAIT, JVMPI_EVENT_CLASS_LOAD },
    { JVMPI_EVENT_METHOD_EXIT, JVMPI_EVENT_MONITOR_WAITED, JVMPI_EVENT_CLASS_LOAD_HOOK },
    { JVMPI_EVENT_JNI_GLOBALREF_ALLOC, JVMPI_EVENT_MONITOR_CONTENDED_ENTERED, JVMPI_EVENT_GC_FINISH },
    { JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC, JVMPI_EVENT_MONITOR_CONTENDED_ENTER, JVMPI_EVENT_OBJECT_ALLOC },
};

static int wanted[JVMPI_MAX_EVENT_TYPE_VAL + 1];
static volatile int come[JVMPI_MAX_EVENT_TYPE_VAL + 1];
static int failures;
static pthread_barrier_t together;

static void notify(JVMPI_Event *e)
{
    come[e->event_type & 63] = 1;
    if (e->event_type == JVMPI_EVENT_CLASS_LOAD_HOOK) {
        keep_class_file(e);
    }
}

static void *from_outside(void *result)
{
    *(jint *)result = jvmpi->EnableEvent(JVMPI_EVENT_METHOD_ENTRY, NULL);
    return NULL;
}

static void enable_from_outside(void)
{
    pthread_t thread;
    jint result = JVMPI_SUCCESS;

    if (pthread_create(&thread, NULL, from_outside, &result) != 0)
        abort();
    pthread_join(thread, NULL);
    report("outside result=%d", (int)result);
}

static unsigned next(unsigned *seed)
{
    return (*seed = *seed * 1664525 + 1013904223) >> 16;
}

/* The events of one thread, many times; the last state is remembered. */
static void toggle(int thread, unsigned seed)
{
    int i;

    pthread_barrier_wait(&together);
    for (i = 0; i < TOGGLES; i++) {
        jint event = events[thread][next(&seed) % 3];
        int on = (int)(next(&seed) % 2);

        if ((on ? jvmpi->EnableEvent : jvmpi->DisableEvent)(event, NULL) != JVMPI_SUCCESS)
            __atomic_add_fetch(&failures, 1, __ATOMIC_SEQ_CST);
        wanted[event] = on;
    }
}

/* Compares the events since "forget" with the expected ones. */
static void verify(void)
{
    int thread, i;

    for (thread = 0; thread < THREADS; thread++)
        for (i = 0; i < 3; i++) {
            jint event = events[thread][i];
            report("event type=%d wanted=%d come=%d", (int)event, wanted[event], come[event]);
        }
    report("failures count=%d", failures);
}

static jlong called(JNIEnv *env, const char *what, jobject object)
{
    unsigned thread, seed;

    if (strcmp(what, "outside") == 0)
        enable_from_outside();
    if (strcmp(what, "inside") == 0)
        return jvmpi->EnableEvent(JVMPI_EVENT_METHOD_ENTRY, NULL);
    if (sscanf(what, "toggle %u %u", &thread, &seed) == 2)
        toggle((int)thread % THREADS, seed);
    if (strcmp(what, "forget") == 0)
        memset((void *)come, 0, sizeof come);
    if (strcmp(what, "references") == 0) {
        (*env)->DeleteGlobalRef(env, (*env)->NewGlobalRef(env, object));
        (*env)->DeleteWeakGlobalRef(env, (*env)->NewWeakGlobalRef(env, object));
    }
    if (strcmp(what, "collect") == 0)
        jvmpi->RunGC();
    if (strcmp(what, "entered") == 0)
        return come[JVMPI_EVENT_METHOD_ENTRY];
    if (strcmp(what, "verify") == 0)
        verify();
    return 0;
}

ON_LOAD(notify)
{
    pthread_barrier_init(&together, NULL, THREADS);
}
