/*
 * raw_monitors.c - raw monitors, used by native threads in JVM_OnLoad and later.
 */
#include <pthread.h>

#include "call.h"

static JVMPI_RawMonitor m;
static volatile int entered, before_wait, after_wait;
static volatile pid_t contender; /* the thread that is to block */

static pthread_t run(void *(*function)(void *))
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, function, NULL) != 0)
        abort();
    return thread;
}

static void *enter_once(void *unused)
{
    contender = gettid();
    jvmpi->RawMonitorEnter(m);
    entered++;
    jvmpi->RawMonitorExit(m);
    return NULL;
}

static void recursion(void)
{
    pthread_t thread;
    int i;

    entered = contender = 0;
    for (i = 0; i < 3; i++)
        jvmpi->RawMonitorEnter(m);
    thread = run(enter_once);
    for (i = 0; i < 2; i++)
        jvmpi->RawMonitorExit(m);
    CHECK("held until the last exit", WAIT_UNTIL(sleeps(contender)) && entered == 0);
    jvmpi->RawMonitorExit(m);
    pthread_join(thread, NULL);
    CHECK("free after the last exit", entered == 1);
}

/* Another thread's calls do not change the owner of the monitor, and nothing hangs. */
static void *not_the_owner(void *unused)
{
    jvmpi->RawMonitorExit(m);
    jvmpi->RawMonitorWait(m, 0);
    jvmpi->RawMonitorWait(m, 3600000);
    jvmpi->RawMonitorNotifyAll(m);
    return enter_once(unused);
}

static void ownership(void)
{
    pthread_t thread;

    entered = contender = 0;
    jvmpi->RawMonitorEnter(m);
    thread = run(not_the_owner);
    CHECK("not taken away", WAIT_UNTIL(sleeps(contender)) && entered == 0);
    jvmpi->RawMonitorExit(m);
    pthread_join(thread, NULL);
    CHECK("got in its turn", entered == 1);
    jvmpi->RawMonitorExit(m);
    jvmpi->RawMonitorNotifyAll(m);
    jvmpi->RawMonitorWait(m, 0);
    CHECK("not owned at all", 1);
}

static void *wait_deeply(void *unused)
{
    int i;

    for (i = 0; i < 3; i++)
        jvmpi->RawMonitorEnter(m);
    before_wait++;
    while (after_wait == 0)
        jvmpi->RawMonitorWait(m, 0);
    for (i = 0; i < 3; i++)
        jvmpi->RawMonitorExit(m);
    __atomic_add_fetch(&entered, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

static int all_wait(void)
{
    int all;

    jvmpi->RawMonitorEnter(m);
    all = before_wait == 3;
    jvmpi->RawMonitorExit(m);
    return all;
}

/* Waiting releases all levels and takes as many again, so that the others get out. */
static void wait_and_notify(void)
{
    pthread_t threads[3];
    int i;

    entered = before_wait = after_wait = 0;
    for (i = 0; i < 3; i++)
        threads[i] = run(wait_deeply);
    CHECK("all levels given up", WAIT_UNTIL(all_wait()));
    jvmpi->RawMonitorEnter(m);
    after_wait = 1;
    jvmpi->RawMonitorNotifyAll(m);
    CHECK("notifying does not let in", entered == 0);
    jvmpi->RawMonitorExit(m);
    for (i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    CHECK("all were notified", entered == 3);
    before_wait = 0;
    CHECK("all levels left", !all_wait());
}

static void timeout(void)
{
    long long before;

    jvmpi->RawMonitorEnter(m);
    before = nanos();
    jvmpi->RawMonitorWait(m, 20);
    CHECK("waited until the time was up", nanos() - before >= 19000000);
    CHECK("and not for ever", nanos() - before < 10000000000LL);
    jvmpi->RawMonitorExit(m);
}

static void many(void)
{
    enum { COUNT = 5000 };
    static JVMPI_RawMonitor monitors[COUNT];
    char name[] = "_the same name";
    int i, distinct = 1;

    for (i = 0; i < COUNT; i++) {
        monitors[i] = jvmpi->RawMonitorCreate(name);
        distinct &= monitors[i] != NULL && (i == 0 || monitors[i] != monitors[i - 1]);
        jvmpi->RawMonitorEnter(monitors[i]);
    }
    for (i = 0; i < COUNT; i++) {
        jvmpi->RawMonitorExit(monitors[i]);
        jvmpi->RawMonitorDestroy(monitors[i]);
    }
    CHECK("many of one name", distinct);
}

static void test_all(const char *where)
{
    report("tests where=%s", where);
    m = jvmpi->RawMonitorCreate("_test");
    recursion();
    ownership();
    wait_and_notify();
    timeout();
    many();
    jvmpi->RawMonitorDestroy(m);
    report("passed where=%s", where);
}

/* "wait": a Java thread waits here until "release". */
static jlong called(JNIEnv *env, const char *what, jobject object)
{
    if (strcmp(what, "test") == 0)
        test_all("java");
    if (strcmp(what, "waiting") == 0)
        return all_wait();
    if (strcmp(what, "wait") == 0) {
        before_wait = 2;
        after_wait = entered = 0;
        wait_deeply(NULL);
    }
    if (strcmp(what, "release") == 0) {
        jvmpi->RawMonitorEnter(m);
        after_wait = 1;
        jvmpi->RawMonitorNotifyAll(m);
        jvmpi->RawMonitorExit(m);
    }
    if (strcmp(what, "prepare") == 0)
        m = jvmpi->RawMonitorCreate("_java");
    return 0;
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    agent_start(vm, options, NULL);
    test_all("on_load");
    return JNI_OK;
}
