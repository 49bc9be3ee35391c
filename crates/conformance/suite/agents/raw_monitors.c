/*
 * raw_monitors.c - raw monitors, and the events of those whose name does not begin with '_'.
 */
#include "conform.h"

static JVMPI_RawMonitor early, monitor, named, hidden, waited;
static JNIEnv *contender, *contender_of_named, *main_env;
static volatile int inside, waiting, notified, returned, early_inside, not_owner_is_back, entered_late, collections;

/* What RAW_MONITOR events tell, in their order. */
static struct {
    jint type;
    JNIEnv *env, *self;
    JVMPI_RawMonitor id;
    char name[64];
} seen[64];
static volatile int n_seen;
static volatile int hidden_seen;

static const char *dump_begin, *dump_end;
static int is_in_dump;
static JVMPI_RawMonitor sought;

static void notify(JVMPI_Event *e)
{
    switch (e->event_type) {
    case JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER:
    case JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED:
    case JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT:
        pthread_mutex_lock(&count_lock);
        if (n_seen < 64) {
            seen[n_seen].type = e->event_type;
            seen[n_seen].env = e->env_id;
            seen[n_seen].self = current();
            seen[n_seen].id = e->u.raw_monitor.id;
            strncpy(seen[n_seen].name, e->u.raw_monitor.name, 63);
            n_seen++;
        }
        hidden_seen |= e->u.raw_monitor.id == hidden;
        pthread_mutex_unlock(&count_lock);
        break;
    case JVMPI_EVENT_GC_FINISH:
        count(&collections);
        break;
    case JVMPI_EVENT_MONITOR_DUMP | JVMPI_REQUESTED_EVENT:
        dump_begin = e->u.monitor_dump.begin;
        dump_end = e->u.monitor_dump.end;
        is_in_dump = 0;
        for (; dump_begin + sizeof sought <= dump_end; dump_begin++)
            is_in_dump |= memcmp(dump_begin, &sought, sizeof sought) == 0;
    }
}

/* How many events of this type there were for a monitor, and the place of the last. */
static int events_of(jint type, JVMPI_RawMonitor of, int *place)
{
    int i, count = 0;

    for (i = 0; i < n_seen; i++)
        if (seen[i].type == type && seen[i].id == of) {
            *place = i;
            count++;
        }
    return count;
}

/* The place of the first event of this type that a thread has sent for a monitor, or -1. */
static int first_of(jint type, JVMPI_RawMonitor of, JNIEnv *env)
{
    int i;

    for (i = 0; i < n_seen; i++)
        if (seen[i].type == type && seen[i].id == of && seen[i].env == env)
            return i;
    return -1;
}

static int dumped(JVMPI_RawMonitor wanted)
{
    sought = wanted;
    is_in_dump = 0;
    jvmpi->RequestEvent(JVMPI_EVENT_MONITOR_DUMP, NULL);
    return is_in_dump;
}

/* ---- What the other thread does ------------------------------------------------------------------ */

static void enter_once(JVMPI_RawMonitor m)
{
    jvmpi->RawMonitorEnter(m);
    if (m == named)
        entered_late |= first_of(JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED, m, contender) < 0;
    count(&inside);
    jvmpi->RawMonitorExit(m);
}

static void not_the_owner(void)
{
    jvmpi->RawMonitorExit(monitor);
    jvmpi->RawMonitorNotifyAll(monitor);
    jvmpi->RawMonitorWait(monitor, 0);
    jvmpi->RawMonitorWait(monitor, 3600000);
    count(&not_owner_is_back);
    enter_once(monitor);
}

static void wait_deeply(void)
{
    int i;

    for (i = 0; i < 3; i++)
        jvmpi->RawMonitorEnter(monitor);
    waiting++;
    while (!notified)
        jvmpi->RawMonitorWait(monitor, 0);
    for (i = 0; i < 2; i++)
        jvmpi->RawMonitorExit(monitor);
    count(&returned);
    jvmpi->RawMonitorExit(monitor);
}

/* Leaves the monitor when the thread that it has notified waits to enter it again. */
static void enter_and_notify(JNIEnv *owner)
{
    jvmpi->RawMonitorEnter(waited);
    inside = 1;
    jvmpi->RawMonitorNotifyAll(waited);
    WAIT_UNTIL(first_of(JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER, waited, owner) >= 0);
    jvmpi->RawMonitorExit(waited);
}

static void *of_no_java(void *unused)
{
    enter_once(monitor);
    return NULL;
}

/* ---- What the main thread does --------------------------------------------------------------------- */

static void timeouts(void)
{
    struct timespec before, after;
    long ms;

    /* Of a monitor that no thread owns. */
    jvmpi->RawMonitorExit(monitor);
    jvmpi->RawMonitorNotifyAll(monitor);
    jvmpi->RawMonitorWait(monitor, 3600000);
    jvmpi->RawMonitorEnter(monitor);
    clock_gettime(CLOCK_MONOTONIC, &before);
    jvmpi->RawMonitorWait(monitor, 30);
    clock_gettime(CLOCK_MONOTONIC, &after);
    jvmpi->RawMonitorExit(monitor);
    ms = (after.tv_sec - before.tv_sec) * 1000L + (after.tv_nsec - before.tv_nsec) / 1000000L;
    /* It may wake early, but not at once. */
    judge("raw-006", ms >= 10, "it does not wait until the time is over");
}

static void names(void)
{
    char name[] = "the same";
    static JVMPI_RawMonitor many[1000];
    JVMPI_RawMonitor first, second;
    int i;

    for (i = 0; i < 1000; i++) {
        many[i] = jvmpi->RawMonitorCreate(name);
        expect("raw-009", many[i] != NULL && (i == 0 || many[i] != many[i - 1]), "two of one name are one");
        jvmpi->RawMonitorEnter(many[i]);
    }
    done("raw-009");
    first = many[0];
    second = many[999];
    for (i = 0; i < 1000; i++)
        jvmpi->RawMonitorExit(many[i]);
    for (i = 1; i < 999; i++)
        jvmpi->RawMonitorDestroy(many[i]);
    expect("raw-011", dumped(first), "it is not in a dump while it is there");
    jvmpi->RawMonitorDestroy(first);
    judge("raw-011", !dumped(first) && dumped(second), "it is in a dump when it has gone");
    jvmpi->RawMonitorDestroy(second);
}

static void after_contention(JNIEnv *own)
{
    int enter = -1, exit = -1, entered = -1, enters, exits;

    pthread_mutex_lock(&count_lock);
    enters = events_of(JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER, named, &enter);
    exits = events_of(JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT, named, &exit);
    expect_int("raw-012", "events", enters, 1);
    expect("raw-012", enter >= 0 && seen[enter].env == contender_of_named && seen[enter].self == contender_of_named,
           "it is not that of the thread that waits");
    expect("raw-012", enter >= 0 && strcmp(seen[enter].name, "named") == 0, "the name is not the monitor's");
    expect_int("raw-013", "events", events_of(JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED, named, &entered), 1);
    expect("raw-013", entered >= 0 && seen[entered].env == contender_of_named && seen[entered].self == contender_of_named,
           "it is not that of the thread that waited");
    expect("raw-013", entered > enter, "it comes before the thread waits");
    expect("raw-013", !entered_late, "it comes after the thread has entered");
    expect("raw-014", exit > enter, "it comes before the other thread waits");
    expect_int("raw-014", "events", exits, 1);
    expect("raw-014", exit >= 0 && seen[exit].env == own && seen[exit].self == own,
           "it is not that of the thread that leaves");
    expect("raw-015", enters == 1 && exits == 1, "events come of what nobody waits for");
    expect("raw-016", !hidden_seen && enters == 1, "events come of a monitor whose name begins with _");
    pthread_mutex_unlock(&count_lock);
    done("raw-012");
    done("raw-013");
    done("raw-014");
    done("raw-015");
    done("raw-016");
}

/* Waits in a monitor that the contender waits to enter, and is notified while that owns it. */
static void wait_in_it(JNIEnv *own)
{
    int enter, exit, entered, again;

    while (!inside)
        jvmpi->RawMonitorWait(waited, 0);
    jvmpi->RawMonitorExit(waited);
    pthread_mutex_lock(&count_lock);
    enter = first_of(JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER, waited, contender);
    entered = first_of(JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED, waited, contender);
    exit = first_of(JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT, waited, own);
    judge("raw-017", enter >= 0 && exit > enter && entered > enter, "it does not come when the owner waits");
    again = first_of(JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER, waited, own);
    entered = first_of(JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED, waited, own);
    judge("raw-018", again > exit && entered > again, "they do not come in turn");
    pthread_mutex_unlock(&count_lock);
}

static void collect(void)
{
    int before = collections;

    jvmpi->RunGC();
    judge("raw-019", waiting > 0 && collections > before, "there is no collection");
}

/* A thread that the VM does not know waits for this one, which does not wait for it. */
static void native_threads(void)
{
    pthread_t thread;

    jvmpi->RawMonitorEnter(monitor);
    if (pthread_create(&thread, NULL, of_no_java, NULL) != 0)
        abort();
    pause_ms(20);
    expect("raw-020", inside == 0, "two threads are in one monitor");
    jvmpi->RawMonitorExit(monitor);
    pthread_join(thread, NULL);
    judge("raw-020", inside == 1, "the other thread does not get in");
    inside = 0;
}

static jint called(JNIEnv *env, const char *what, jint number, jobject object)
{
    /* The other thread. */
    if (strcmp(what, "contender") == 0)
        contender = env;
    else if (strcmp(what, "enter once") == 0)
        enter_once(monitor);
    else if (strcmp(what, "enter early") == 0) {
        jvmpi->RawMonitorEnter(early);
        early_inside = 1;
        jvmpi->RawMonitorExit(early);
    } else if (strcmp(what, "enter named") == 0)
        enter_once(named);
    else if (strcmp(what, "enter hidden") == 0)
        enter_once(hidden);
    else if (strcmp(what, "enter and notify") == 0)
        enter_and_notify(main_env);
    else if (strcmp(what, "not the owner") == 0)
        not_the_owner();
    else if (strcmp(what, "wait deeply") == 0)
        wait_deeply();
    /* Whether the other thread is as far as it gets. */
    else if (strcmp(what, "blocked") == 0)
        return inside > 0 || early_inside || jvmpi->GetThreadStatus(contender) == JVMPI_THREAD_MONITOR_WAIT;
    else if (strcmp(what, "waiting") == 0) {
        jvmpi->RawMonitorEnter(monitor);
        number = waiting;
        jvmpi->RawMonitorExit(monitor);
        return number;
    }
    /* The main thread. */
    else if (strcmp(what, "enter") == 0) {
        inside = 0;
        jvmpi->RawMonitorEnter(monitor);
    } else if (strcmp(what, "exit") == 0)
        jvmpi->RawMonitorExit(monitor);
    else if (strcmp(what, "own named") == 0) {
        inside = 0;
        jvmpi->RawMonitorEnter(number ? hidden : named);
        jvmpi->RawMonitorEnter(number ? hidden : named);
    } else if (strcmp(what, "leave named") == 0) {
        if (!number)
            contender_of_named = contender;
        jvmpi->RawMonitorExit(number ? hidden : named);
        jvmpi->RawMonitorExit(number ? hidden : named);
    } else if (strcmp(what, "own waited") == 0) {
        inside = 0;
        main_env = env;
        jvmpi->RawMonitorEnter(waited);
    } else if (strcmp(what, "wait in it") == 0)
        wait_in_it(env);
    else if (strcmp(what, "collect") == 0)
        collect();
    else if (strcmp(what, "alone") == 0) {
        jvmpi->RawMonitorEnter(named);
        jvmpi->RawMonitorExit(named);
    } else if (strcmp(what, "leave early") == 0) {
        expect("raw-010", !early_inside, "what JVM_OnLoad has entered is not owned");
        jvmpi->RawMonitorExit(early);
    } else if (strcmp(what, "early is free") == 0)
        judge("raw-010", early_inside, "it cannot be entered");
    else if (strcmp(what, "no more of it") == 0)
        early_inside = inside = 0;
    else if (strcmp(what, "still out") == 0) {
        expect("raw-001", inside == 0, "two threads are in one monitor");
        expect("raw-002", inside == 0, "it is left before the last exit");
    } else if (strcmp(what, "not taken away") == 0) {
        judge("raw-003", inside == 0, "who is not the owner can leave it");
        judge("raw-007", inside == 0 && not_owner_is_back, "who is not the owner waits");
    }
    else if (strcmp(what, "inside") == 0)
        return inside;
    else if (strcmp(what, "entered") == 0) {
        judge("raw-001", inside == 1, "the other thread does not get in");
        judge("raw-002", inside == 1, "it is not left after the last exit");
    } else if (strcmp(what, "notify") == 0) {
        jvmpi->RawMonitorEnter(monitor);
        notified = 1;
        expect("raw-005", returned == 0, "they go on before they are notified");
        jvmpi->RawMonitorNotifyAll(monitor);
        expect("raw-005", returned == 0, "they go on before the monitor is free");
        jvmpi->RawMonitorExit(monitor);
    } else if (strcmp(what, "all returned") == 0) {
        expect_int("raw-004", "threads that waited", waiting, number);
        expect_int("raw-004", "threads that have left", returned, number);
        done("raw-004");
        expect_int("raw-005", "threads that were notified", returned, number);
        done("raw-005");
    } else if (strcmp(what, "alone too") == 0) {
        timeouts();
        names();
    } else if (strcmp(what, "after contention") == 0)
        after_contention(env);
    return 0;
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    char name[] = "named";

    start(vm, notify);
    early = jvmpi->RawMonitorCreate("_early");
    jvmpi->RawMonitorEnter(early);
    monitor = jvmpi->RawMonitorCreate("_monitor");
    hidden = jvmpi->RawMonitorCreate("_hidden");
    named = jvmpi->RawMonitorCreate(name);
    memset(name, 'x', sizeof name - 1);
    waited = jvmpi->RawMonitorCreate("waited");
    native_threads();
    enable(JVMPI_EVENT_GC_FINISH);
    enable(JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER);
    enable(JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED);
    enable(JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT);
    return JNI_OK;
}
