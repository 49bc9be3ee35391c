/*
 * suspend.c - suspends and resumes the threads whose names the program gives. Commands: "suspend NAME", "resume NAME".
 * "references": hears of JNI's global references; "reference": makes and deletes one to the
 * object. "class": asks for CLASS_LOAD of the class, and returns the result. "methods": enables
 * METHOD_ENTRY; "entered": how many methods the thread has entered since. "other COMMAND" is passed on to the copy of this agent that the option other= names.
 */
#include "call.h"
#include "threads.h"
#ifndef _WIN32
#include <dlfcn.h>
#endif

static __thread jlong entered;

static void notify(JVMPI_Event *e)
{
    entered += e->event_type == JVMPI_EVENT_METHOD_ENTRY;
    track_threads(e);
}

static jlong call_other(JNIEnv *env, const char *what)
{
    void *library = dlopen(option("other", ""), RTLD_LAZY | RTLD_NOLOAD);
    jlong (*call)(JNIEnv *, jclass, jstring, jobject);

    if (library == NULL)
        return -1;
    *(void **)&call = dlsym(library, "Java_Agent_call");
    return call(env, NULL, (*env)->NewStringUTF(env, what), NULL);
}

static jlong called(JNIEnv *env, const char *what, jobject object)
{
    const char *name = strchr(what, ' ');
    JNIEnv *thread = name != NULL ? thread_named(name + 1).env : env;

    if (strncmp(what, "other ", 6) == 0)
        return call_other(env, what + 6);
    if (strcmp(what, "references") == 0)
        enable(JVMPI_EVENT_JNI_GLOBALREF_ALLOC);
    if (strcmp(what, "reference") == 0)
        (*env)->DeleteGlobalRef(env, (*env)->NewGlobalRef(env, object));
    if (strncmp(what, "reference", 9) == 0)
        return 0;
    if (strcmp(what, "class") == 0)
        return jvmpi->RequestEvent(JVMPI_EVENT_CLASS_LOAD, jvmpi->jobject2jobjectID(object));
    if (strcmp(what, "methods") == 0)
        enable(JVMPI_EVENT_METHOD_ENTRY);
    if (strcmp(what, "entered") == 0)
        return entered;
    if (thread == NULL)
        return -1;
    if (strncmp(what, "suspend ", 8) == 0) {
        jvmpi->DisableGC();
        jvmpi->SuspendThread(thread);
    } else if (strncmp(what, "resume ", 7) == 0) {
        jvmpi->ResumeThread(thread);
        jvmpi->EnableGC();
    }
    return 0;
}

ON_LOAD(notify)
{
    ENABLE(JVMPI_EVENT_THREAD_START, JVMPI_EVENT_THREAD_END);
}
