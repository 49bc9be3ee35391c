/*
 * disabling.c - counts the events with a handler that is over when DisableEvent returns, and the others.
 *
 * Options: events=1+3...
 * Commands: "enable" and "disable" the events; "come": how many have since they were enabled; "report" both counts.
 */
#include <stdatomic.h>

#include "call.h"

static atomic_int disabled;
static atomic_long before, after;

/* Takes long enough for some threads to lose their processor inside. */
static void notify(JVMPI_Event *e)
{
    volatile int work = 1000;

    while (--work > 0)
        ;
    atomic_fetch_add(atomic_load(&disabled) ? &after : &before, 1);
}

static jlong called(JNIEnv *env, const char *what, jobject object)
{
    if (strcmp(what, "enable") == 0) {
        atomic_store(&disabled, 0);
        atomic_store(&before, 0);
        atomic_store(&after, 0);
        switch_events(jvmpi->EnableEvent, option("events", ""));
    }
    if (strcmp(what, "disable") == 0) {
        switch_events(jvmpi->DisableEvent, option("events", ""));
        atomic_store(&disabled, 1);
    }
    if (strcmp(what, "report") == 0)
        report("disabled before=%ld after=%ld", atomic_load(&before), atomic_load(&after));
    return atomic_load(&before);
}

ON_LOAD(notify)
{
}
