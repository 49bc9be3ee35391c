/*
 * count.c - counts events and does nothing else, for measurements; reports the numbers at the end.
 *
 * Options: events=54+55+...  the events
 */
#include "agent.h"

enum { TYPES = JVMPI_MAX_EVENT_TYPE_VAL + 1 };

/* What a thread has had of each type. */
typedef struct Counts {
    struct Counts *next;
    long of[TYPES];
} Counts;

static Counts *all;
static __thread Counts *own;

static void notify(JVMPI_Event *e)
{
    Counts *counts = own;

    if (counts == NULL) {
        own = counts = calloc(1, sizeof *counts);
        if (counts == NULL)
            abort();
        do
            counts->next = __atomic_load_n(&all, __ATOMIC_ACQUIRE);
        while (!__sync_bool_compare_and_swap(&all, counts->next, counts));
    }
    counts->of[e->event_type & ~JVMPI_REQUESTED_EVENT]++;
    if (e->event_type == JVMPI_EVENT_JVM_SHUT_DOWN) {
        int type;
        for (type = 0; type < TYPES; type++) {
            long sum = 0;
            for (counts = all; counts != NULL; counts = counts->next)
                sum += counts->of[type];
            if (sum > 0)
                report("count type=%d number=%ld", type, sum);
        }
    }
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    const char *list;

    agent_start(vm, options, notify);
    enable(JVMPI_EVENT_JVM_SHUT_DOWN);
    for (list = option("events", ""); *list != '\0'; list += strspn(list, "+"))
        enable((jint)strtol(list, (char **)&list, 10));
    return JNI_OK;
}
