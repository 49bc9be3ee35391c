/*
 * empty.c - enables events and does nothing in its handler: what is measured is all the rest.
 *
 * Options: events=1+3    those that are enabled in JVM_OnLoad
 */
#include "agent.h"

static void notify(JVMPI_Event *e)
{
}

ON_LOAD(notify)
{
    switch_events(jvmpi->EnableEvent, option("events", ""));
}
