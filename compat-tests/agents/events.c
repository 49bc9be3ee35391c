/*
 * events.c - enables the events of its options and reports them with their fields.
 *
 * Options: events=42+33+...  the events, enabled in JVM_OnLoad
 *          call=NAME         calls the method call of this class in JVM_OnLoad, and reports whether there is the class
 */
#include "agent.h"

/* The words of events without fields. */
static const char *const words[JVMPI_MAX_EVENT_TYPE_VAL + 1] = {
    [JVMPI_EVENT_THREAD_END] = "thread_end", [JVMPI_EVENT_JVM_INIT_DONE] = "jvm_init_done",
    [JVMPI_EVENT_JVM_SHUT_DOWN] = "jvm_shut_down", [JVMPI_EVENT_DATA_DUMP_REQUEST] = "data_dump_request",
    [JVMPI_EVENT_DATA_RESET_REQUEST] = "data_reset_request",
};

static void report_class(const JVMPI_Event *e, const char *requested)
{
    report("class_load%s env=%#lx name=%s source=%s interfaces=%d methods=%d statics=%d instances=%d"
           " class=%#lx", requested, ID(e->env_id), q(e->u.class_load.class_name), q(e->u.class_load.source_name),
           (int)e->u.class_load.num_interfaces, (int)e->u.class_load.num_methods,
           (int)e->u.class_load.num_static_fields, (int)e->u.class_load.num_instance_fields,
           ID(e->u.class_load.class_id));
}

static void report_compiled(const JVMPI_Event *e)
{
    char lines[12000] = "";
    size_t n = 0;
    int i;

    for (i = 0; i < e->u.compiled_method_load.lineno_table_size && n < sizeof lines - 32; i++) {
        const JVMPI_Lineno *l = &e->u.compiled_method_load.lineno_table[i];
        n += (size_t)sprintf(lines + n, "%s%d:%d", i > 0 ? " " : "", (int)l->offset, (int)l->lineno);
    }
    report("compiled_method_load env=%#lx method=%#lx address=%#lx size=%d entries=%d lines=\"%s\"",
           ID(e->env_id), ID(e->u.compiled_method_load.method_id),
           ID(e->u.compiled_method_load.code_addr), (int)e->u.compiled_method_load.code_size,
           (int)e->u.compiled_method_load.lineno_table_size, lines);
}

static void notify(JVMPI_Event *e)
{
    const char *requested = e->event_type & JVMPI_REQUESTED_EVENT ? " requested=1" : " requested=0";

    switch (e->event_type & ~JVMPI_REQUESTED_EVENT) {
    case JVMPI_EVENT_CLASS_LOAD:
        report_class(e, requested);
        break;
    case JVMPI_EVENT_CLASS_UNLOAD:
        report("class_unload env=%#lx class=%#lx", ID(e->env_id), ID(e->u.class_unload.class_id));
        break;
    case JVMPI_EVENT_COMPILED_METHOD_LOAD:
        report_compiled(e);
        break;
    case JVMPI_EVENT_COMPILED_METHOD_UNLOAD:
        report("compiled_method_unload env=%#lx method=%#lx", ID(e->env_id),
               ID(e->u.compiled_method_unload.method_id));
        break;
    case JVMPI_EVENT_THREAD_START:
        report("thread_start%s env=%#lx name=%s group=%s parent=%s thread=%#lx thread_env=%#lx"
               " self=%#lx", requested, ID(e->env_id), q(e->u.thread_start.thread_name),
               q(e->u.thread_start.group_name), q(e->u.thread_start.parent_name),
               ID(e->u.thread_start.thread_id), ID(e->u.thread_start.thread_env_id),
               ID(current_env()));
        break;
    default:
        if (e->event_type > 0 && e->event_type <= JVMPI_MAX_EVENT_TYPE_VAL && words[e->event_type] != NULL)
            report("%s env=%#lx self=%#lx", words[e->event_type], ID(e->env_id), ID(current_env()));
        else
            report("event type=%d env=%#lx", (int)e->event_type, ID(e->env_id));
    }
}

static void call(JNIEnv *env, const char *name)
{
    jclass type = env != NULL ? (*env)->FindClass(env, name) : NULL;

    if (type != NULL)
        (*env)->CallStaticVoidMethod(env, type, (*env)->GetStaticMethodID(env, type, "call", "()V"));
    if (env != NULL && (*env)->ExceptionCheck(env))
        (*env)->ExceptionClear(env);
    report("on_load found=%d", type != NULL);
}

ON_LOAD(notify)
{
    const char *called = option("call", NULL);

    switch_events(jvmpi->EnableEvent, option("events", ""));
    if (called != NULL)
        call(current_env(), called);
}
