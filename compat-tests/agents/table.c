/*
 * table.c - the results of EnableEvent, DisableEvent and RequestEvent for every number.
 */
#include "agent.h"

static const jint odd[] = { -1, -2147483647 - 1, 64, 1000, 2000, 2147483647,
                            JVMPI_REQUESTED_EVENT | JVMPI_EVENT_OBJECT_ALLOC };
static jint types[62 + 2 + sizeof odd / sizeof *odd];
static int count;

static void report_all(const char *phase)
{
    int i;

    for (i = 0; i < count; i++) {
        jint first = jvmpi->EnableEvent(types[i], NULL), again = jvmpi->EnableEvent(types[i], &count);
        jint off = jvmpi->DisableEvent(types[i], NULL), off_again = jvmpi->DisableEvent(types[i], &count);
        report("results phase=%s type=%d enable=%d again=%d disable=%d disable_again=%d", phase,
               (int)types[i], (int)first, (int)again, (int)off, (int)off_again);
    }
}

static void notify(JVMPI_Event *e)
{
    int i;

    if (e->event_type != JVMPI_EVENT_JVM_INIT_DONE)
        return;
    report_all("live");
    for (i = 0; i < count; i++)
        if (types[i] != JVMPI_EVENT_HEAP_DUMP && types[i] != JVMPI_EVENT_MONITOR_DUMP)
            report("request type=%d null=%d unknown=%d", (int)types[i],
                   (int)jvmpi->RequestEvent(types[i], NULL),
                   (int)jvmpi->RequestEvent(types[i], (void *)0x7ffffff0));
    report("request_done");
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    size_t i;

    for (count = 0; count <= 63; count++)
        types[count] = count;
    for (i = 0; i < sizeof odd / sizeof *odd; i++)
        types[count++] = odd[i];
    agent_start(vm, options, notify);
    report_all("on_load");
    enable(JVMPI_EVENT_JVM_INIT_DONE);
    return JNI_OK;
}
