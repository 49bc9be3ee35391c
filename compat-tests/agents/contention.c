/*
 * contention.c - the events of raw monitors: two threads meet at the one named "plain". With mode=leave the thread
 * inside leaves it by waiting, with mode=return the other one has to wait again when it was notified.
 */
#include "call.h"

static JVMPI_RawMonitor m;
static volatile pid_t task;
static volatile int through, waiting, told;

static void notify(JVMPI_Event *e)
{
    const char *word = e->event_type == JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER ? "enter"
        : e->event_type == JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED ? "entered" : "exit";

    report("%s env=%#lx self=%#lx name=%s same=%d", word, ID(e->env_id), ID(current_env()),
           q(e->u.raw_monitor.name), e->u.raw_monitor.id == m);
    /* The other one, not the one that waits for it. */
    if (e->event_type == JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER && gettid() == task)
        told = 1;
}

/* Returns true if the other thread waits to enter and has reported that. */
static int is_blocked(void)
{
    return told && sleeps(task);
}

static void contender(void *unused)
{
    report("contender env=%#lx", ID(current_env()));
    task = gettid();
    jvmpi->RawMonitorEnter(m);
    report("inside");
    jvmpi->RawMonitorExit(m);
    through = 1;
}

static void waiter(void *unused)
{
    jvmpi->RawMonitorEnter(m);
    report("contender env=%#lx", ID(current_env()));
    task = gettid();
    waiting = 1;
    jvmpi->RawMonitorWait(m, 0);
    report("inside");
    jvmpi->RawMonitorExit(m);
    through = 1;
}

static void let_it_return(void)
{
    jvmpi->CreateSystemThread("waiter", JVMPI_NORMAL_PRIORITY, waiter);
    CHECK("waits", WAIT_UNTIL(waiting));
    /* It is free when the waiter waits. */
    jvmpi->RawMonitorEnter(m);
    jvmpi->RawMonitorNotifyAll(m);
    CHECK("blocked", WAIT_UNTIL(is_blocked()));
    jvmpi->RawMonitorExit(m);
    CHECK("through", WAIT_UNTIL(through));
}

static jlong called(JNIEnv *env, const char *what, jobject object)
{
    if (mode_is("return")) {
        report("holder env=%#lx", ID(env));
        let_it_return();
        return 0;
    }
    jvmpi->RawMonitorEnter(m);
    jvmpi->RawMonitorEnter(m);
    report("holder env=%#lx", ID(env));
    jvmpi->CreateSystemThread("contender", JVMPI_NORMAL_PRIORITY, contender);
    CHECK("blocked", WAIT_UNTIL(is_blocked()));
    if (mode_is("leave"))
        while (!through)
            jvmpi->RawMonitorWait(m, 1);
    jvmpi->RawMonitorExit(m);
    jvmpi->RawMonitorExit(m);
    CHECK("through", WAIT_UNTIL(through));
    jvmpi->RawMonitorEnter(m);
    jvmpi->RawMonitorExit(m);
    return 0;
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    agent_start(vm, options, notify);
    m = jvmpi->RawMonitorCreate((char *)"plain");
    enable(JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER);
    enable(JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED);
    enable(JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT);
    return JNI_OK;
}
