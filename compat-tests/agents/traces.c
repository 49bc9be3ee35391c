/*
 * traces.c - call traces, with every method named as CLASS_LOAD named it.
 * Commands: "self" reports the trace of the caller. "sampled COUNT NAME" takes that many traces as a sampler does, of a
 * thread that computes, and returns how many traces there were; it reports how many of them are not whole. "asked COUNT
 * NAME" does so without suspending it.
 * "running COUNT NAME" takes that many of a thread that continues meanwhile. It reports how many have frames, and
 * how many of these have a method that was not announced.
 * "enable EVENTS", "disable EVENTS"; "redefine" a class by another file, both in an array. "inside" has
 * handlers call a method of this class: see run_inside.
 */
#include <jvmti.h>

#include "call.h"
#include "methods.h"
#include "threads.h"

enum { MAX_DEPTH = 1000 };

static jclass runs_inside;
static jobjectID made;

static void report_trace(const char *what, JNIEnv *env)
{
    JVMPI_CallFrame frames[100];
    JVMPI_CallTrace trace = call_trace(env, frames, 100);

    report_frames(what, &trace);
}

/* A trace is whole if it begins in a method that is known and ends in Thread.run. */
static int is_whole(const JVMPI_CallTrace *trace)
{
    const char *outermost;

    if (trace->num_frames == 0 || method_of(trace->frames[0].method_id) == NULL)
        return 0;
    outermost = method_name(trace->frames[trace->num_frames - 1].method_id);
    return outermost != NULL && strcmp(outermost, "java.lang.Thread.run") == 0;
}

/* Returns the number of methods of the loops that are shown as native; none of them is. */
static int not_native(const JVMPI_CallTrace *trace)
{
    int count = 0, i;

    for (i = 0; i < trace->num_frames; i++) {
        const char *name = method_name(trace->frames[i].method_id);
        count += name != NULL && strncmp(name, "Loops.", 6) == 0 && trace->frames[i].lineno == -3;
    }
    return count;
}

/* A trace of a thread that has run since the last one, or with fewer than no frames. */
static void take_suspended(JVMPI_CallTrace *trace)
{
    trace->num_frames = -1;
    jvmpi->DisableGC();
    jvmpi->SuspendThread(trace->env_id);
    if (jvmpi->ThreadHasRun(trace->env_id))
        jvmpi->GetCallTrace(trace, MAX_DEPTH);
    jvmpi->ResumeThread(trace->env_id);
    jvmpi->EnableGC();
}

/* Does the same with a thread that continues. A thread that waits for a processor has its trace the next time. */
static void take_in_passing(JVMPI_CallTrace *trace)
{
    trace->num_frames = 0;
    if (jvmpi->ThreadHasRun(trace->env_id))
        jvmpi->GetCallTrace(trace, MAX_DEPTH);
    if (trace->num_frames == 0)
        trace->num_frames = -1;
}

static jlong sample(void (*take_trace)(JVMPI_CallTrace *), JVMPI_CallTrace *trace, int count, const char *name)
{
    int whole = 0, native = 0, i;

    for (i = 0; i < count;) {
        take_trace(trace);
        if (trace->num_frames >= 0) {
            i++;
            whole += is_whole(trace);
            native += not_native(trace);
        }
        usleep(1000);
    }
    report("sampled thread=%s traces=%d whole=%d native=%d", q(name), count, whole, native);
    return count;
}

static jlong take_running(JVMPI_CallTrace *trace, int count, const char *name)
{
    int found = 0, unknown = 0, i, k;

    for (i = 0; i < count; i++) {
        jvmpi->GetCallTrace(trace, MAX_DEPTH);
        found += trace->num_frames > 0;
        for (k = 0; k < trace->num_frames; k++)
            unknown += method_of(trace->frames[k].method_id) == NULL;
    }
    report("running thread=%s traces=%d found=%d unknown=%d", q(name), count, found, unknown);
    return found;
}

/* Gives a class another class file, as any tool may: an array of the two. */
static void redefine(JNIEnv *env, jobjectArray what)
{
    jvmtiCapabilities capabilities = { .can_redefine_classes = 1 };
    jbyteArray file = (*env)->GetObjectArrayElement(env, what, 1);
    jvmtiClassDefinition definition = { (*env)->GetObjectArrayElement(env, what, 0), 0, NULL };
    jbyte *bytes = (*env)->GetByteArrayElements(env, file, NULL);
    jvmtiEnv *jvmti = NULL;

    definition.class_byte_count = (*env)->GetArrayLength(env, file);
    definition.class_bytes = (unsigned char *)bytes;
    CHECK("redefined", (*agent_vm)->GetEnv(agent_vm, (void **)&jvmti, JVMTI_VERSION_1_2) == JNI_OK
          && (*jvmti)->AddCapabilities(jvmti, &capabilities) == JVMTI_ERROR_NONE
          && (*jvmti)->RedefineClasses(jvmti, 1, &definition) == JVMTI_ERROR_NONE);
    (*env)->ReleaseByteArrayElements(env, file, bytes, JNI_ABORT);
}

static jlong called(JNIEnv *env, const char *what, jobject object)
{
    JVMPI_CallFrame frames[MAX_DEPTH];
    JVMPI_CallTrace trace = { NULL, 0, frames };
    char kind[32] = "", name[64] = "";
    int count = 0;

    if (strncmp(what, "enable ", 7) == 0)
        return switch_events(jvmpi->EnableEvent, what + 7), 0;
    if (strncmp(what, "disable ", 8) == 0)
        return switch_events(jvmpi->DisableEvent, what + 8), 0;
    if (strcmp(what, "redefine") == 0)
        return redefine(env, object), 0;
    if (strcmp(what, "inside") == 0)
        return runs_inside = (*env)->NewGlobalRef(env, object), 0;
    if (strcmp(what, "self") == 0)
        return report_trace(what, env), 0;
    sscanf(what, "%31s %d %63s", kind, &count, name);
    trace.env_id = thread_named(name).env;
    if (strcmp(kind, "running") == 0)
        return take_running(&trace, count, name);
    return sample(strcmp(kind, "sampled") == 0 ? take_suspended : take_in_passing, &trace, count, name);
}

/* Runs Java code in the handlers of the first METHOD_ENTRY of Traces.entered and of the first OBJECT_ALLOC
   of a Traces$Made, and takes a trace where that code has loaded Traces$Lazy. */
static void run_inside(const JVMPI_Event *e)
{
    static int entered, allocated;
    JNIEnv *env = e->env_id;
    int runs = 0;

    if (e->event_type == JVMPI_EVENT_CLASS_LOAD && strcmp(e->u.class_load.class_name, "Traces$Made") == 0)
        made = e->u.class_load.class_id;
    if (runs_inside == NULL)
        return;
    if (e->event_type == JVMPI_EVENT_CLASS_LOAD && strcmp(e->u.class_load.class_name, "Traces$Lazy") == 0)
        report_trace("load", env);
    else if (e->event_type == JVMPI_EVENT_METHOD_ENTRY) {
        const char *name = method_name(e->u.method.method_id);
        runs = name != NULL && strcmp(name, "Traces.entered") == 0 && !entered++;
    } else if (e->event_type == JVMPI_EVENT_OBJECT_ALLOC && made != NULL && e->u.obj_alloc.class_id == made)
        runs = !allocated++;
    if (runs) {
        (*env)->CallStaticVoidMethod(env, runs_inside, (*env)->GetStaticMethodID(env, runs_inside, "inside", "()V"));
        if ((*env)->ExceptionCheck(env))
            (*env)->FatalError(env, "Traces.inside has thrown");
    }
}

static void notify(JVMPI_Event *e)
{
    track_threads(e);
    if (e->event_type == JVMPI_EVENT_CLASS_LOAD)
        learn_methods(e);
    run_inside(e);
}

ON_LOAD(notify)
{
    ENABLE(JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_THREAD_START, JVMPI_EVENT_THREAD_END);
}
