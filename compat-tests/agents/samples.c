/*
 * samples.c - counts the objects that are reported as allocated, and checks that exactly these are reported as freed.
 *
 * Options: interval=N   enables OBJECT_ALLOC with this sampling interval; without it, with that of the settings
 */
#include <pthread.h>

#include "map.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Map live;
static long sampled, early, freed, unknown, waits, unknown_waits;
static char is_sampled, is_early;

/* Counts an announced object and adds it to the live ones. */
static void add(jobjectID id, long *count, char *what)
{
    pthread_mutex_lock(&lock);
    if (map_get(&live, id) != NULL)
        report("error what=twice id=%#lx", ID(id));
    map_put(&live, id, what);
    ++*count;
    pthread_mutex_unlock(&lock);
}

static void end(void)
{
    size_t i;
    long left = 0;

    jvmpi->RunGC();
    for (i = 0; i < live.room; i++)
        left += live.slots[i].value == &is_sampled;
    report("samples sampled=%ld early=%ld freed=%ld unknown=%ld left=%ld waits=%ld unknown_waits=%ld", sampled, early,
           freed, unknown, left, waits, unknown_waits);
}

static void notify(JVMPI_Event *e)
{
    switch (e->event_type) {
    case JVMPI_EVENT_OBJECT_ALLOC:
        add(e->u.obj_alloc.obj_id, &sampled, &is_sampled);
        break;
    case JVMPI_EVENT_OBJECT_ALLOC | JVMPI_REQUESTED_EVENT:
        add(e->u.obj_alloc.obj_id, &early, &is_early);
        break;
    case JVMPI_EVENT_OBJECT_FREE:
        /* No other event is in flight, so no thread is in add. */
        if (map_get(&live, e->u.obj_free.obj_id) == NULL)
            unknown++;
        else
            map_remove(&live, e->u.obj_free.obj_id);
        freed++;
        break;
    case JVMPI_EVENT_MONITOR_WAIT:
        if (e->u.monitor_wait.object != NULL) {
            pthread_mutex_lock(&lock);
            waits++;
            unknown_waits += map_get(&live, e->u.monitor_wait.object) == NULL;
            pthread_mutex_unlock(&lock);
        }
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        end();
        break;
    }
}

ON_LOAD(notify)
{
    uintptr_t interval;
    jint result;

    interval = (uintptr_t)strtoul(option("interval", "0"), NULL, 10);
    result = jvmpi->EnableEvent(JVMPI_EVENT_OBJECT_ALLOC, (void *)interval);
    report("enabled result=%d", (int)result);
    ENABLE(JVMPI_EVENT_OBJECT_FREE, JVMPI_EVENT_MONITOR_WAIT, JVMPI_EVENT_JVM_SHUT_DOWN);
}
