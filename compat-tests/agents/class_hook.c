/*
 * class_hook.c - CLASS_LOAD_HOOK, in several ways a handler may leave its event.
 *
 * Option mode=same       sets the new bytes to the old ones
 *             replaced   changes the text ORIGINAL in Hook$Target to a longer one, in memory from malloc_f
 *             pairs      as same, and reports the classes that a thread saw in a hook and not in CLASS_LOAD
 *                        when it ends
 */
#include "agent.h"
#include "class_file.h"

static const char original[] = "\001\000\010ORIGINAL", longer[] = "\001\000\013REPLACEMENT";

static void replace(JVMPI_Event *e, const unsigned char *text)
{
    jint length = e->u.class_load_hook.class_data_len;
    const unsigned char *data = e->u.class_load_hook.class_data;
    jint before = (jint)(text - data), cut = (jint)sizeof original - 1, put = (jint)sizeof longer - 1;
    unsigned char *fresh = e->u.class_load_hook.malloc_f((unsigned)(length - cut + put));

    memcpy(fresh, data, (size_t)before);
    memcpy(fresh + before, longer, (size_t)put);
    memcpy(fresh + before + put, data + before + cut, (size_t)(length - before - cut));
    e->u.class_load_hook.new_class_data = fresh;
    e->u.class_load_hook.new_class_data_len = length - cut + put;
}

/* The classes of this thread with a CLASS_LOAD still to come. */
static __thread char *pending[4096];

static void add_pending(const char *name)
{
    char **slot = pending, *p;

    while (*slot != NULL)
        slot++;
    p = *slot = strdup(name);
    for (; *p != '\0'; p++)
        *p = *p == '/' ? '.' : *p;
}

static void remove_pending(const char *name)
{
    char **slot, **last = pending;

    while (*last != NULL)
        last++;
    for (slot = pending; *slot != NULL; slot++)
        if (strcmp(*slot, name) == 0) {
            free(*slot);
            *slot = *--last;
            *last = NULL;
            return;
        }
}

static void report_pending(const JVMPI_Event *e)
{
    int count = 0;

    while (pending[count] != NULL)
        report("pending name=%s", q(pending[count++]));
    report("end env=%#lx at=%d pending=%d", ID(e->env_id), (int)e->event_type, count);
}

static void hook(JVMPI_Event *e)
{
    unsigned char *data = e->u.class_load_hook.class_data;
    size_t length = (size_t)e->u.class_load_hook.class_data_len;
    unsigned char *text = memmem(data, length, original, sizeof original - 1);
    const char *name = name_of(data);

    report("hook env=%#lx name=%s length=%d", ID(e->env_id), q(name), (int)length);
    add_pending(name);
    if (mode_is("replaced") && text != NULL && strcmp(name, "Hook$Target") == 0)
        replace(e, text);
    else
        keep_class_file(e);
}

static void notify(JVMPI_Event *e)
{
    switch (e->event_type) {
    case JVMPI_EVENT_CLASS_LOAD_HOOK:
        hook(e);
        break;
    case JVMPI_EVENT_CLASS_LOAD:
        remove_pending(e->u.class_load.class_name);
        report("class_load env=%#lx name=%s", ID(e->env_id), q(e->u.class_load.class_name));
        break;
    case JVMPI_EVENT_THREAD_END:
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        report_pending(e);
    }
}

ON_LOAD(notify)
{
    ENABLE(JVMPI_EVENT_CLASS_LOAD_HOOK, JVMPI_EVENT_CLASS_LOAD);
    if (mode_is("pairs"))
        ENABLE(JVMPI_EVENT_METHOD_ENTRY, JVMPI_EVENT_THREAD_END, JVMPI_EVENT_JVM_SHUT_DOWN);
}
