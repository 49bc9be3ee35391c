/*
 * faulty.c - agents with a fault each.
 *
 * Option mode=careless   does not check for an exception after it has called a method, of which -Xcheck:jni warns
 *             dangling   reads the name of a thread after its event, when it may be freed
 *             suspends   enables nothing; the program's first call has it request THREAD_START of the current thread
 *                        and then suspend this thread itself
 */
#include "call.h"

static const char *kept;

static void call_twice(JNIEnv *env)
{
    jclass thread = (*env)->FindClass(env, "java/lang/Thread");
    jmethodID yield = (*env)->GetStaticMethodID(env, thread, "yield", "()V");

    (*env)->CallStaticVoidMethod(env, thread, yield);
    (*env)->CallStaticVoidMethod(env, thread, yield);
    (*env)->ExceptionCheck(env);
}

static void notify(JVMPI_Event *e)
{
    switch (e->event_type) {
    case JVMPI_EVENT_JVM_INIT_DONE:
        call_twice(e->env_id);
        break;
    case JVMPI_EVENT_THREAD_START:
        kept = e->u.thread_start.thread_name;
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        report("last name=%s", q(kept));
        break;
    default:
        report("event type=%d", (int)e->event_type);
    }
}

static jlong called(JNIEnv *env, const char *what, jobject object)
{
    jobjectID id;

    jvmpi->DisableGC();
    id = jvmpi->GetThreadObject(env);
    report("requested result=%d", (int)jvmpi->RequestEvent(JVMPI_EVENT_THREAD_START, id));
    jvmpi->SuspendThread(env);
    return 0;
}

ON_LOAD(notify)
{
    if (mode_is("careless"))
        enable(JVMPI_EVENT_JVM_INIT_DONE);
    if (mode_is("dangling"))
        ENABLE(JVMPI_EVENT_THREAD_START, JVMPI_EVENT_JVM_SHUT_DOWN);
}
