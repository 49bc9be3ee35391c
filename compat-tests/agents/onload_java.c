/*
 * onload_java.c - calls a method of the program in JVM_OnLoad, as an agent with Java code of its own does.
 */
#include "agent.h"

static void notify(JVMPI_Event *e)
{
    switch (e->event_type) {
    case JVMPI_EVENT_CLASS_LOAD:
        report("class_load name=%s", q(e->u.class_load.class_name));
        break;
    case JVMPI_EVENT_THREAD_START:
        report("thread_start name=%s", q(e->u.thread_start.thread_name));
        break;
    case JVMPI_EVENT_JVM_INIT_DONE:
        report("jvm_init_done");
        break;
    }
}

ON_LOAD(notify)
{
    JNIEnv *env;
    jclass program;

    ENABLE(JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_THREAD_START, JVMPI_EVENT_JVM_INIT_DONE);
    env = current_env();
    program = env != NULL ? (*env)->FindClass(env, "OnLoad") : NULL;
    if (program != NULL) {
        jmethodID call = (*env)->GetStaticMethodID(env, program, "call", "()V");
        (*env)->CallStaticVoidMethod(env, program, call);
    }
    if (env != NULL && (*env)->ExceptionCheck(env))
        (*env)->ExceptionClear(env);
    report("on_load found=%d", program != NULL);
}
