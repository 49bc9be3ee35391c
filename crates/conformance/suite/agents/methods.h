/*
 * methods.h - the methods that CLASS_LOAD has told of.
 */
#ifndef METHODS_H
#define METHODS_H

#include "conform.h"

typedef struct Method {
    struct Method *next;
    jmethodID id;
    jobjectID class_id;
    jint first_line, last_line;
    char *type, *name, *signature; /* of its class, its own, its descriptor */
} Method;

enum { BUCKETS = 4096 };

static Method *methods[BUCKETS];
static pthread_mutex_t methods_lock = PTHREAD_MUTEX_INITIALIZER;

static char *copy_of(const char *text)
{
    char *copy = malloc(strlen(text) + 1);

    return strcpy(copy, text);
}

static void learn_methods(const JVMPI_Event *e)
{
    int i;

    for (i = 0; i < e->u.class_load.num_methods; i++) {
        const JVMPI_Method *from = &e->u.class_load.methods[i];
        Method *m = malloc(sizeof *m), **bucket = &methods[(size_t)from->method_id / 8 % BUCKETS];

        m->id = from->method_id;
        m->class_id = e->u.class_load.class_id;
        m->first_line = from->start_lineno;
        m->last_line = from->end_lineno;
        m->type = copy_of(e->u.class_load.class_name);
        m->name = copy_of(from->method_name);
        m->signature = copy_of(from->method_signature);
        pthread_mutex_lock(&methods_lock);
        m->next = *bucket;
        *bucket = m;
        pthread_mutex_unlock(&methods_lock);
    }
}

/* The method, or NULL if CLASS_LOAD has not told of it. */
static const Method *method_of(jmethodID id)
{
    const Method *m;

    pthread_mutex_lock(&methods_lock);
    for (m = methods[(size_t)id / 8 % BUCKETS]; m != NULL && m->id != id; m = m->next)
        ;
    pthread_mutex_unlock(&methods_lock);
    return m;
}

static int is_method(jmethodID id, const char *type, const char *name)
{
    const Method *m = method_of(id);

    return m != NULL && strcmp(m->type, type) == 0 && strcmp(m->name, name) == 0;
}

#endif
