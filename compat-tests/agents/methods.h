/*
 * methods.h - the methods an agent knows from CLASS_LOAD, which are never forgotten.
 */
#ifndef METHODS_H
#define METHODS_H

#include <pthread.h>

#include "agent.h"

typedef struct Method {
    struct Method *next;
    jmethodID id;
    char *name, *source; /* "class.method"; the file of the class */
    jint first_line, last_line;
} Method;

enum { METHOD_BUCKETS = 1 << 14 };

static Method *known_methods[METHOD_BUCKETS];
static pthread_mutex_t known_methods_lock = PTHREAD_MUTEX_INITIALIZER;

static inline Method **bucket_of(jmethodID id)
{
    return &known_methods[((uintptr_t)id >> 3) * 2654435761u % METHOD_BUCKETS];
}

/* Returns the method, or NULL if no CLASS_LOAD has named it. */
static inline const Method *method_of(jmethodID id)
{
    const Method *m;

    pthread_mutex_lock(&known_methods_lock);
    for (m = *bucket_of(id); m != NULL && m->id != id; m = m->next)
        ;
    pthread_mutex_unlock(&known_methods_lock);
    return m;
}

/* The name of the method, or NULL if no CLASS_LOAD has named it. */
static inline const char *method_name(jmethodID id)
{
    const Method *m = method_of(id);

    return m != NULL ? m->name : NULL;
}

/* Learns the methods of a CLASS_LOAD. An ID that comes again is that of the newer class. */
static inline void learn_methods(const JVMPI_Event *e)
{
    const char *class_name = e->u.class_load.class_name;
    char *source = strdup(e->u.class_load.source_name);
    int i;

    pthread_mutex_lock(&known_methods_lock);
    for (i = 0; i < e->u.class_load.num_methods; i++) {
        const JVMPI_Method *method = &e->u.class_load.methods[i];
        size_t length = strlen(class_name) + strlen(method->method_name) + 2;
        Method *m = malloc(sizeof *m), **bucket = bucket_of(method->method_id);
        char *name = malloc(length);
        if (m == NULL || name == NULL || source == NULL)
            abort();
        snprintf(name, length, "%s.%s", class_name, method->method_name);
        *m = (Method){ *bucket, method->method_id, name, source, method->start_lineno, method->end_lineno };
        *bucket = m;
    }
    pthread_mutex_unlock(&known_methods_lock);
}

/* Reports the frames of a trace, the innermost first. */
static inline void report_frames(const char *what, const JVMPI_CallTrace *trace)
{
    int i;

    report("trace what=%s frames=%d", q(what), (int)trace->num_frames);
    for (i = 0; i < trace->num_frames; i++) {
        const Method *m = method_of(trace->frames[i].method_id);
        report("frame line=%d method=%s source=%s", (int)trace->frames[i].lineno, q(m != NULL ? m->name : NULL),
               q(m != NULL ? m->source : NULL));
    }
}

#endif
