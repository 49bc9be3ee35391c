/*
 * keeper.c - an agent with a lock that every event takes. A thread of its own always holds the lock,
 * and releases it when another one wants it. Asks for dumps when the program says so.
 */
#include <sched.h>

#include "call.h"

static JVMPI_RawMonitor lock;
static volatile int wanted, is_kept;
static long events;

static void notify(JVMPI_Event *e)
{
    __atomic_add_fetch(&wanted, 1, __ATOMIC_SEQ_CST);
    jvmpi->RawMonitorEnter(lock);
    __atomic_sub_fetch(&wanted, 1, __ATOMIC_SEQ_CST);
    events++;
    jvmpi->RawMonitorExit(lock);
}

/* Calls the VM all the time, which stops it there while it is suspended. */
static void keep(void *unused)
{
    for (;;) {
        jvmpi->RawMonitorEnter(lock);
        is_kept = 1;
        while (wanted == 0)
            jvmpi->GetThreadStatus(current_env());
        jvmpi->RawMonitorExit(lock);
        while (wanted != 0)
            sched_yield();
    }
}

static jlong called(JNIEnv *env, const char *what, jobject object)
{
    JVMPI_HeapDumpArg level = { JVMPI_DUMP_LEVEL_2 };
    jint monitors, heap;

    if (strcmp(what, "monitors monitors") != 0)
        return 0;
    if (jvmpi->CreateSystemThread("keeper", JVMPI_NORMAL_PRIORITY, keep) != JNI_OK)
        report("error what=CreateSystemThread");
    while (!is_kept)
        sched_yield();
    monitors = jvmpi->RequestEvent(JVMPI_EVENT_MONITOR_DUMP, NULL);
    heap = jvmpi->RequestEvent(JVMPI_EVENT_HEAP_DUMP, &level);
    report("dumped monitors=%d heap=%d events=%ld", (int)monitors, (int)heap, events);
    return 0;
}

ON_LOAD(notify)
{
    lock = jvmpi->RawMonitorCreate("_keeper");
    ENABLE(JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_CLASS_LOAD_HOOK, JVMPI_EVENT_OBJECT_ALLOC);
}
