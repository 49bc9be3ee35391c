/* count.c - counts the objects that are allocated, by class. */
#include <jvmpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Class {
    struct Class *next;
    jobjectID id;
    char *name;
    long objects;
} Class;

enum { BUCKETS = 4096 };

static JVMPI_Interface *jvmpi;
static JVMPI_RawMonitor lock;
static Class *buckets[BUCKETS]; /* belong to who holds lock */

static Class *class_of(jobjectID id)
{
    Class **c = &buckets[(size_t)id / 16 % BUCKETS];

    while (*c != NULL && (*c)->id != id)
        c = &(*c)->next;
    if (*c == NULL && (*c = calloc(1, sizeof **c)) != NULL)
        (*c)->id = id;
    if (*c == NULL)
        jvmpi->ProfilerExit(1);
    return *c;
}

static void notify(JVMPI_Event *e)
{
    jvmpi->RawMonitorEnter(lock);
    switch (e->event_type) {
    case JVMPI_EVENT_CLASS_LOAD: {
        const char *name = e->u.class_load.class_name;
        Class *c = class_of(e->u.class_load.class_id);
        if ((c->name = malloc(strlen(name) + 1)) != NULL)
            strcpy(c->name, name); /* the event's strings die with it */
        break;
    }
    case JVMPI_EVENT_OBJECT_ALLOC:
        if (e->u.obj_alloc.is_array == JVMPI_NORMAL_OBJECT)
            class_of(e->u.obj_alloc.class_id)->objects++;
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN: {
        int i;
        for (i = 0; i < BUCKETS; i++) {
            const Class *c;
            for (c = buckets[i]; c != NULL; c = c->next)
                if (c->objects > 0)
                    fprintf(stderr, "%8ld %s\n", c->objects, c->name != NULL ? c->name : "?");
        }
        break;
    }
    }
    jvmpi->RawMonitorExit(lock);
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    static const jint events[] = {
        JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_OBJECT_ALLOC, JVMPI_EVENT_JVM_SHUT_DOWN
    };
    size_t i;

    (void)options;
    (void)reserved;
    if ((*vm)->GetEnv(vm, (void **)&jvmpi, JVMPI_VERSION_1) != JNI_OK)
        return JNI_ERR;
    jvmpi->NotifyEvent = notify;
    lock = jvmpi->RawMonitorCreate("_count");
    for (i = 0; i < sizeof events / sizeof *events; i++)
        if (jvmpi->EnableEvent(events[i], NULL) != JVMPI_SUCCESS)
            return JNI_ERR;
    return JNI_OK;
}
