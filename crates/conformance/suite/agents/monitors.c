/*
 * monitors.c - contention for Java monitors, waiting and sleep.
 */
#include "conform.h"

typedef struct {
    jint type;
    JNIEnv *env, *self;
    jobjectID object;
    jlong timeout;
} Seen;

enum { MAX = 256 };

static Seen seen[MAX];
static volatile int n, enters;
static jobjectID monitor;
static JNIEnv *owner, *contender;

static void add(const JVMPI_Event *e, jobjectID object, jlong timeout)
{
    pthread_mutex_lock(&count_lock);
    if (n < MAX && (object == monitor || object == NULL)) {
        seen[n].type = e->event_type;
        seen[n].env = e->env_id;
        seen[n].self = current();
        seen[n].object = object;
        seen[n].timeout = timeout;
        n++;
    }
    pthread_mutex_unlock(&count_lock);
}

static void notify(JVMPI_Event *e)
{
    switch (e->event_type) {
    case JVMPI_EVENT_MONITOR_CONTENDED_ENTER:
        add(e, e->u.monitor.object, 0);
        if (e->u.monitor.object == monitor)
            count(&enters);
        break;
    case JVMPI_EVENT_MONITOR_CONTENDED_ENTERED:
    case JVMPI_EVENT_MONITOR_CONTENDED_EXIT:
        add(e, e->u.monitor.object, 0);
        break;
    case JVMPI_EVENT_MONITOR_WAIT:
    case JVMPI_EVENT_MONITOR_WAITED:
        add(e, e->u.monitor_wait.object, e->u.monitor_wait.timeout);
    }
}

/* How many events of this type there were for the object, and the place of the last. */
static int events_of(jint type, jobjectID object, int *place)
{
    int i, count = 0;

    *place = -1;
    for (i = 0; i < n; i++)
        if (seen[i].type == type && seen[i].object == object) {
            *place = i;
            count++;
        }
    return count;
}

static int is_of(int place, JNIEnv *env)
{
    return place >= 0 && seen[place].env == env && seen[place].self == env;
}

static void contention(void)
{
    int enter, entered, exit;

    expect_int("monitors-001", "events", events_of(JVMPI_EVENT_MONITOR_CONTENDED_ENTER, monitor, &enter), 1);
    judge("monitors-001", is_of(enter, contender), "it is not that of the thread that waits");
    expect_int("monitors-002", "events", events_of(JVMPI_EVENT_MONITOR_CONTENDED_ENTERED, monitor, &entered), 1);
    judge("monitors-002", is_of(entered, contender), "it is not that of the thread that waited");
    expect_int("monitors-003", "events", events_of(JVMPI_EVENT_MONITOR_CONTENDED_EXIT, monitor, &exit), 1);
    judge("monitors-003", is_of(exit, owner), "it is not that of the thread that leaves");
    judge("monitors-004", enter >= 0 && enter < exit && enter < entered, "they do not come in order");
}

/* One case is about the beginning, the other about the end. */
static void waiting(int first, const char *id, const char *end, jlong timeout, jobjectID object, jlong least)
{
    int wait = -1, waited = -1, i, waits = 0, ends = 0;

    for (i = first; i < n; i++) {
        if (seen[i].type == JVMPI_EVENT_MONITOR_WAIT && seen[i].object == object && seen[i].env == owner) {
            wait = i;
            waits++;
        }
        if (seen[i].type == JVMPI_EVENT_MONITOR_WAITED && seen[i].object == object && seen[i].env == owner) {
            waited = i;
            ends++;
        }
    }
    expect_int(id, "MONITOR_WAIT", waits, 1);
    expect(id, is_of(wait, owner), "it is not that of the thread that waits");
    if (wait >= 0)
        expect_int(id, "timeout", seen[wait].timeout, timeout);
    done(id);
    expect_int(end, "MONITOR_WAITED", ends, 1);
    expect(end, is_of(waited, owner) && waited > wait, "it is not that of the thread, or comes first");
    if (waited >= 0)
        expect(end, seen[waited].timeout >= least && seen[waited].timeout < 3600000, "it is not the time that has passed");
    done(end);
}

static jint called(JNIEnv *env, const char *what, jint number, jobject object)
{
    static int first;

    if (strcmp(what, "monitor") == 0) {
        owner = env;
        monitor = jvmpi->jobject2jobjectID((*env)->NewGlobalRef(env, object));
    } else if (strcmp(what, "contender") == 0)
        contender = env;
    else if (strcmp(what, "enters") == 0)
        return enters;
    else if (strcmp(what, "contended") == 0)
        contention();
    else if (strcmp(what, "alone") == 0)
        first = n;
    else if (strcmp(what, "not contended") == 0) {
        expect_int("monitors-011", "events where nobody waits", n - first, 0);
        judge("monitors-011", enters > 0, "none where somebody does");
    } else if (strcmp(what, "waited") == 0)
        waiting(first, "monitors-005", "monitors-006", number, monitor, number - 1);
    else if (strcmp(what, "notified") == 0)
        waiting(first, "monitors-007", "monitors-008", 0, monitor, 0);
    else if (strcmp(what, "interrupted") == 0)
        waiting(first, "monitors-012", "monitors-012", number, monitor, 0);
    else if (strcmp(what, "slept") == 0)
        waiting(first, "monitors-009", "monitors-010", number, NULL, number - 1);
    return 0;
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    start(vm, notify);
    enable(JVMPI_EVENT_MONITOR_CONTENDED_ENTER);
    enable(JVMPI_EVENT_MONITOR_CONTENDED_ENTERED);
    enable(JVMPI_EVENT_MONITOR_CONTENDED_EXIT);
    enable(JVMPI_EVENT_MONITOR_WAIT);
    enable(JVMPI_EVENT_MONITOR_WAITED);
    return JNI_OK;
}
