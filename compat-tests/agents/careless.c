/*
 * careless.c - does not check for an exception after it has called a method, of which -Xcheck:jni warns.
 */
#include "agent.h"

static void notify(JVMPI_Event *e)
{
    if (e->event_type != JVMPI_EVENT_JVM_INIT_DONE)
        return;
    JNIEnv *env = e->env_id;
    jclass thread = (*env)->FindClass(env, "java/lang/Thread");
    jmethodID yield = (*env)->GetStaticMethodID(env, thread, "yield", "()V");
    (*env)->CallStaticVoidMethod(env, thread, yield);
    (*env)->CallStaticVoidMethod(env, thread, yield);
    (*env)->ExceptionCheck(env);
}

ON_LOAD(notify)
{
    enable(JVMPI_EVENT_JVM_INIT_DONE);
}
