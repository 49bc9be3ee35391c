/*
 * monitors.c - reports what happens at the Java monitors that the program watches, and the sleep of
 * threads: "enter", "entered", "exit", "wait" and "waited", each with the monitor's name, "-" for
 * sleep, and the thread's name; "other" if env_id is not the thread that sends the event.
 *
 * Options: events=54+55+...  the events, besides those of threads
 */
#include "call.h"
#include "map.h"
#include "threads.h"

typedef struct {
    char name[256];
    volatile long enters;
} Watched;

static Map watched;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static Watched *watched_object(jobjectID id)
{
    Watched *found;

    pthread_mutex_lock(&lock);
    found = map_get(&watched, id);
    pthread_mutex_unlock(&lock);
    return found;
}

static void report_monitor(const JVMPI_Event *e, const char *word, jlong timeout)
{
    jobjectID id = e->u.monitor.object;
    Watched *monitor = id != NULL ? watched_object(id) : NULL;
    Thread thread = thread_of(e->env_id);

    if (id != NULL && monitor == NULL)
        return;
    report("%s monitor=%s thread=%s timeout=%lld", word, q(monitor != NULL ? monitor->name : "-"),
           q(thread.env != NULL && thread.env == current_env() ? thread.name : "other"), (long long)timeout);
    if (e->event_type == JVMPI_EVENT_MONITOR_CONTENDED_ENTER)
        __sync_fetch_and_add(&monitor->enters, 1);
}

static void notify(JVMPI_Event *e)
{
    track_threads(e);
    switch (e->event_type) {
    case JVMPI_EVENT_MONITOR_CONTENDED_ENTER:
        report_monitor(e, "enter", 0);
        break;
    case JVMPI_EVENT_MONITOR_CONTENDED_ENTERED:
        report_monitor(e, "entered", 0);
        break;
    case JVMPI_EVENT_MONITOR_CONTENDED_EXIT:
        report_monitor(e, "exit", 0);
        break;
    case JVMPI_EVENT_MONITOR_WAIT:
        report_monitor(e, "wait", e->u.monitor_wait.timeout);
        break;
    case JVMPI_EVENT_MONITOR_WAITED:
        report_monitor(e, "waited", e->u.monitor_wait.timeout);
        break;
    }
}

/* The native methods of workloads/Contended.java: each runs what it is given. */

static void run(JNIEnv *env, jobject body)
{
    jclass type = (*env)->GetObjectClass(env, body);
    jmethodID method = (*env)->GetMethodID(env, type, "run", "()V");

    (*env)->DeleteLocalRef(env, type);
    if (method != NULL)
        (*env)->CallVoidMethod(env, body, method);
}

JNIEXPORT void JNICALL Java_Contended_inNative(JNIEnv *env, jobject self, jobject body)
{
    run(env, body);
}

JNIEXPORT jint JNICALL Java_Contended_inStaticNative(JNIEnv *env, jclass type, jint n, jdouble x, jobject body)
{
    CHECK("arguments", n == 1 && x == 2.0);
    run(env, body);
    return n;
}

/*
 * "watch NAME", "enters NAME": how many threads have begun to wait, "enable TYPE", "disable TYPE", "lock" and
 * "unlock" by JNI.
 */
static jlong called(JNIEnv *env, const char *what, jobject object)
{
    if (strncmp(what, "watch ", 6) == 0) {
        Watched *monitor = calloc(1, sizeof *monitor);
        if (monitor == NULL)
            abort();
        strcpy(monitor->name, what + 6);
        pthread_mutex_lock(&lock);
        map_put(&watched, jvmpi->jobject2jobjectID(object), monitor);
        pthread_mutex_unlock(&lock);
        return 0;
    }
    if (strcmp(what, "enters") == 0)
        return watched_object(jvmpi->jobject2jobjectID(object))->enters;
    if (strcmp(what, "lock") == 0)
        return (*env)->MonitorEnter(env, object);
    if (strcmp(what, "unlock") == 0)
        return (*env)->MonitorExit(env, object);
    if (strncmp(what, "enable ", 7) == 0)
        return jvmpi->EnableEvent(atoi(what + 7), NULL);
    if (strncmp(what, "disable ", 8) == 0)
        return jvmpi->DisableEvent(atoi(what + 8), NULL);
    return -1;
}

ON_LOAD(notify)
{
    ENABLE(JVMPI_EVENT_THREAD_START, JVMPI_EVENT_THREAD_END);
    switch_events(jvmpi->EnableEvent, option("events", "54+55+56+57+58"));
}
