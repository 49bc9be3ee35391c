/*
 * dangling.c - reads the name of a thread after its event, when it may be freed.
 */
#include "agent.h"

static const char *kept;

static void notify(JVMPI_Event *e)
{
    if (e->event_type == JVMPI_EVENT_THREAD_START)
        kept = e->u.thread_start.thread_name;
    if (e->event_type == JVMPI_EVENT_JVM_SHUT_DOWN && kept != NULL)
        report("last name=%s", q(kept));
}

ON_LOAD(notify)
{
    ENABLE(JVMPI_EVENT_THREAD_START, JVMPI_EVENT_JVM_SHUT_DOWN);
}
