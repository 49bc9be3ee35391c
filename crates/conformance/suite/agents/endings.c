/*
 * endings.c - the end of the VM, in all ways: the last events, ProfilerExit, and the user's signals.
 */
#ifdef _WIN32
#include <windows.h>
#else
#include <signal.h>
#endif

#include "conform.h"

static const char *mode;
static volatile int shut_downs, ends_after, dumps, resets, in_order, exiting;
static volatile int heap_dumps, monitor_dumps, stored, has_beside, asked_beside;

/* Ends the process, with a raw monitor and collections disabled; whoever comes back has not. */
static void leave(const char *id)
{
    JVMPI_RawMonitor monitor = jvmpi->RawMonitorCreate("_leave");

    exiting = 1;
    done(id);
    jvmpi->RawMonitorEnter(monitor);
    jvmpi->DisableGC();
    jvmpi->ProfilerExit(3);
    fail(id, "ProfilerExit returns");
    _exit(4);
}

/* Makes its request in JVM_SHUT_DOWN, whose handler waits for that. */
static void beside(void *argument)
{
    while (!has_beside)
        pause_ms(1);
    expect_int("endings-014", "MONITOR_DUMP", jvmpi->RequestEvent(JVMPI_EVENT_MONITOR_DUMP, NULL), JVMPI_SUCCESS);
    asked_beside = 1;
    for (;;)
        pause_ms(1000);
}

static void shut_down(const JVMPI_Event *e)
{
    jint type;

    if (count(&shut_downs) > 0)
        fail("endings-001", "it comes twice");
    expect("endings-002", e->env_id == current(), "env_id is not the thread's");
    if (strcmp(mode, "end") == 0)
        leave("endings-013");
    if (strcmp(mode, "plain") != 0)
        return;
    expect("storage-007", jvmpi->GetThreadLocalStorage(e->env_id) == e->env_id, "what was stored in its THREAD_END is not there");
    jvmpi->SetThreadLocalStorage(e->env_id, (void *)&stored);
    judge("storage-007", jvmpi->GetThreadLocalStorage(e->env_id) == (void *)&stored, "nothing can be stored");
    for (type = 0; type <= JVMPI_MAX_EVENT_TYPE_VAL; type++)
        jvmpi->DisableEvent(type, NULL);
    expect_int("endings-004", "HEAP_DUMP", jvmpi->RequestEvent(JVMPI_EVENT_HEAP_DUMP, NULL), JVMPI_SUCCESS);
    expect_int("endings-005", "MONITOR_DUMP", jvmpi->RequestEvent(JVMPI_EVENT_MONITOR_DUMP, NULL), JVMPI_SUCCESS);
    expect_int("endings-004", "heap dumps", heap_dumps, 1);
    expect_int("endings-005", "monitor dumps", monitor_dumps, 1);
    expect_int("endings-001", "THREAD_END of main before it", ends_after > 0, 1);
    done("endings-001");
    done("endings-002");
    done("endings-004");
    done("endings-005");
    for (has_beside = 1; !asked_beside;)
        pause_ms(1);
    judge("endings-014", monitor_dumps == 2, "the dump of the other thread does not come");
}

static void notify(JVMPI_Event *e)
{
    if (shut_downs > 0 && (e->event_type & JVMPI_REQUESTED_EVENT) == 0) {
        char text[64];

        sprintf(text, "an event of type %d comes after it", (int)e->event_type);
        fail("endings-003", text);
    }
    if (exiting)
        fail("endings-010", "an event comes after ProfilerExit was called");
    switch (e->event_type) {
    case JVMPI_EVENT_CLASS_LOAD:
        if (strcmp(e->u.class_load.class_name, "Endings") == 0)
            leave("endings-011");
        break;
    case JVMPI_EVENT_THREAD_END:
        ends_after++;
        jvmpi->SetThreadLocalStorage(e->env_id, e->env_id);
        break;
    case JVMPI_EVENT_JVM_INIT_DONE:
        jvmpi->CreateSystemThread("beside", JVMPI_NORMAL_PRIORITY, beside);
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        shut_down(e);
        break;
    case JVMPI_EVENT_HEAP_DUMP | JVMPI_REQUESTED_EVENT:
        heap_dumps++;
        break;
    case JVMPI_EVENT_MONITOR_DUMP | JVMPI_REQUESTED_EVENT:
        monitor_dumps++;
        break;
    case JVMPI_EVENT_DATA_DUMP_REQUEST:
        dumps++;
        break;
    case JVMPI_EVENT_DATA_RESET_REQUEST:
        in_order = dumps > resets;
        resets++;
    }
}

static void system_thread(void *argument)
{
    leave("endings-012");
}

/* What the user does for a dump: SIGQUIT, or Ctrl-Break. */
static void ask_for_a_dump(void)
{
#ifdef _WIN32
    GenerateConsoleCtrlEvent(CTRL_BREAK_EVENT, 0);
#else
    kill(getpid(), SIGQUIT);
#endif
}

static jint called(JNIEnv *env, const char *what, jint number, jobject object)
{
    if (strcmp(what, "signal") == 0)
        ask_for_a_dump();
    else if (strcmp(what, "dumps") == 0)
        return dumps;
    else if (strcmp(what, "resets") == 0)
        return resets;
    else if (strcmp(what, "dumped") == 0)
        judge("endings-006", dumps == 1, "it does not come once for each signal");
    else if (strcmp(what, "reset") == 0)
        judge("endings-007", resets > 0 && in_order, "it does not come after DATA_DUMP_REQUEST");
    else if (strcmp(what, "hook") == 0)
        fail("endings-010", "a shutdown hook runs");
    else if (strcmp(what, "exit") == 0) {
        if (strcmp(mode, "thread") == 0)
            jvmpi->CreateSystemThread("leaves", JVMPI_NORMAL_PRIORITY, system_thread);
        else
            leave("endings-010");
    } else if (strcmp(what, "ran") == 0)
        fail(strcmp(mode, "load") == 0 ? "endings-009" : "endings-011", "the program runs");
    return mode[0];
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    mode = options;
    start(vm, notify);
    if (strcmp(mode, "load") == 0)
        leave("endings-009");
    if (strcmp(mode, "handler") == 0)
        enable(JVMPI_EVENT_CLASS_LOAD);
    if (strcmp(mode, "plain") == 0)
        enable(JVMPI_EVENT_JVM_INIT_DONE);
    enable(JVMPI_EVENT_JVM_SHUT_DOWN);
    enable(JVMPI_EVENT_THREAD_START);
    enable(JVMPI_EVENT_THREAD_END);
    enable(JVMPI_EVENT_DATA_DUMP_REQUEST);
    enable(JVMPI_EVENT_DATA_RESET_REQUEST);
    return JNI_OK;
}

JNIEXPORT void JNICALL JVM_OnUnload(JavaVM *vm)
{
    JVMPI_RawMonitor monitor = jvmpi->RawMonitorCreate("_too late");
    jint type;

    jvmpi->RawMonitorEnter(monitor);
    jvmpi->RawMonitorExit(monitor);
    for (type = 0; type <= JVMPI_MAX_EVENT_TYPE_VAL; type++)
        jvmpi->EnableEvent(type, NULL);
    jvmpi->RequestEvent(JVMPI_EVENT_MONITOR_DUMP, NULL);
    jvmpi->DisableGC();
    jvmpi->EnableGC();
    judge("endings-015", jvmpi->CreateSystemThread("late", JVMPI_NORMAL_PRIORITY, beside) == JNI_ERR,
          "a thread can be created");
    judge("endings-003", shut_downs == 1, "it does not come, or twice");
    done("endings-008");
}
