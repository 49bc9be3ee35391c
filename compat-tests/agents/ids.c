/*
 * ids.c - from IDs to objects and back.
 */
#include "call.h"
#include "threads.h"

static jmethodID method_of_known;
static jobjectID id_of_known;

static void check_thread(JNIEnv *env, jobject thread)
{
    jobjectID id;
    jobject object;

    jvmpi->DisableGC();
    id = jvmpi->GetThreadObject(env);
    CHECK("thread id", id != NULL && id == thread_named("main").id);
    CHECK("thread id again", jvmpi->GetThreadObject(env) == id);
    CHECK("same from reference", jvmpi->jobject2jobjectID(thread) == id);
    object = jvmpi->jobjectID2jobject(id);
    CHECK("object", object != NULL && (*env)->IsSameObject(env, object, thread));
    CHECK("local reference", (*env)->GetObjectRefType(env, object) == JNILocalRefType);
    CHECK("and back", jvmpi->jobject2jobjectID(object) == id);
    CHECK("form", (uintptr_t)id % 16 == 0 && (uintptr_t)id >= 16 && (uint64_t)(uintptr_t)id < 1ull << 32);
    jvmpi->EnableGC();
}

static void check_objects(JNIEnv *env)
{
    jclass type = (*env)->FindClass(env, "java/lang/Object");
    jobject first = (*env)->AllocObject(env, type), second = (*env)->AllocObject(env, type);
    jobject global = (*env)->NewGlobalRef(env, first), weak = (*env)->NewWeakGlobalRef(env, first);
    jobjectID id;

    jvmpi->DisableGC();
    id = jvmpi->jobject2jobjectID(first);
    CHECK("fresh id", id != NULL && id != jvmpi->jobject2jobjectID(second));
    CHECK("global reference", jvmpi->jobject2jobjectID(global) == id);
    CHECK("weak reference", jvmpi->jobject2jobjectID(weak) == id);
    CHECK("fresh object", (*env)->IsSameObject(env, jvmpi->jobjectID2jobject(id), first));
    jvmpi->EnableGC();
    (*env)->DeleteGlobalRef(env, global);
    (*env)->DeleteWeakGlobalRef(env, weak);
}

static void check_class(JNIEnv *env, jclass known)
{
    jmethodID run = (*env)->GetMethodID(env, (*env)->FindClass(env, "java/lang/Thread"), "run", "()V");
    jobjectID id;

    jvmpi->DisableGC();
    CHECK("class of method", id_of_known != NULL && jvmpi->GetMethodClass(method_of_known) == id_of_known);
    CHECK("class id is object id", jvmpi->jobject2jobjectID(known) == id_of_known);
    id = jvmpi->GetMethodClass(run);
    CHECK("class of a JDK method", id != NULL
          && (*env)->IsSameObject(env, jvmpi->jobjectID2jobject(id),
                                  (*env)->FindClass(env, "java/lang/Thread")));
    jvmpi->EnableGC();
}

static jlong called(JNIEnv *env, const char *what, jobject object)
{
    if (strcmp(what, "thread") == 0)
        check_thread(env, object);
    else
        check_class(env, object);
    check_objects(env);
    return 0;
}

static void notify(JVMPI_Event *e)
{
    track_threads(e);
    if (e->event_type == JVMPI_EVENT_CLASS_LOAD && strcmp(e->u.class_load.class_name, "Ids$Known") == 0) {
        id_of_known = e->u.class_load.class_id;
        method_of_known = e->u.class_load.methods[0].method_id;
    }
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    agent_start(vm, options, notify);
    enable(JVMPI_EVENT_THREAD_START);
    enable(JVMPI_EVENT_THREAD_END);
    enable(JVMPI_EVENT_CLASS_LOAD);
    return JNI_OK;
}
