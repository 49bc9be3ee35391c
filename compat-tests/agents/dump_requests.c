/*
 * dump_requests.c - requests a dump whenever the program says so, and drops it: "heap", "monitors", "both". With "objects"
 * it enables OBJECT_ALLOC anew, which announces all objects to it. With "requests" it requests OBJECT_ALLOC for many of the
 * objects that were reported last, while it has disabled collections.
 */
#include <stdatomic.h>

#include "call.h"

enum { MOST = 1000 };

static jobjectID allocated[MOST];
static atomic_uint allocations;

static void notify(JVMPI_Event *e)
{
    if (e->event_type == JVMPI_EVENT_OBJECT_ALLOC)
        allocated[allocations++ % MOST] = e->u.obj_alloc.obj_id;
}

static jint request(jint type)
{
    jint result = jvmpi->RequestEvent(type, NULL);

    report("requested type=%d result=%d", (int)type, (int)result);
    return result;
}

static jint request_objects(void)
{
    enum { REQUESTS = 80 };
    int i, found = 0;

    jvmpi->DisableGC();
    for (i = 0; i < REQUESTS; i++)
        found += jvmpi->RequestEvent(JVMPI_EVENT_OBJECT_ALLOC, allocated[i * MOST / REQUESTS]) == JVMPI_SUCCESS;
    jvmpi->EnableGC();
    report("found objects=%d", found);
    return JVMPI_SUCCESS;
}

static jlong called(JNIEnv *env, const char *what, jobject object)
{
    jint result = JVMPI_SUCCESS;

    if (strcmp(what, "objects") == 0) {
        jvmpi->DisableEvent(JVMPI_EVENT_OBJECT_ALLOC, NULL);
        return jvmpi->EnableEvent(JVMPI_EVENT_OBJECT_ALLOC, NULL);
    }
    if (strcmp(what, "requests") == 0)
        return request_objects();
    if (strcmp(what, "monitors") != 0)
        result = request(JVMPI_EVENT_HEAP_DUMP);
    if (strcmp(what, "heap") != 0 && result == JVMPI_SUCCESS)
        result = request(JVMPI_EVENT_MONITOR_DUMP);
    return result;
}

ON_LOAD(notify)
{
}
