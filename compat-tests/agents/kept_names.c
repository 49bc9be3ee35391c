/*
 * kept_names.c - keeps the names of classes without copying them, as some old agents do.
 */
#include <pthread.h>

#include "agent.h"

enum { MAX_NAMES = 20000 };

static struct { const char *kept; char *copy; } names[MAX_NAMES];
static int count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void notify(JVMPI_Event *e)
{
    int i, changed = 0;

    pthread_mutex_lock(&lock);
    if (e->event_type == JVMPI_EVENT_CLASS_LOAD && count < MAX_NAMES) {
        names[count].kept = e->u.class_load.class_name;
        names[count++].copy = strdup(e->u.class_load.class_name);
    }
    if (e->event_type == JVMPI_EVENT_JVM_SHUT_DOWN) {
        for (i = 0; i < count; i++)
            changed += strcmp(names[i].kept, names[i].copy) != 0;
        report("names kept=%d changed=%d", count, changed);
    }
    pthread_mutex_unlock(&lock);
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    agent_start(vm, options, notify);
    enable(JVMPI_EVENT_CLASS_LOAD);
    enable(JVMPI_EVENT_JVM_SHUT_DOWN);
    return JNI_OK;
}
