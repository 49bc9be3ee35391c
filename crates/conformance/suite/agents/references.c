/*
 * references.c - JNI's global references.
 */
#include "conform.h"

static JNIEnv *owner;
static struct { int count; jobjectID object; jobject reference; JNIEnv *env; int is_valid; } refs[4];
static volatile int made_by_agent;

static void made(const JVMPI_Event *e, int kind)
{
    if (!made_by_agent || e->env_id != owner)
        return;
    refs[kind].count++;
    refs[kind].object = e->u.jni_globalref_alloc.obj_id;
    refs[kind].reference = e->u.jni_globalref_alloc.ref_id;
    refs[kind].env = current();
}

static void deleted(const JVMPI_Event *e, int kind)
{
    if (!made_by_agent || e->env_id != owner)
        return;
    refs[kind].count++;
    refs[kind].reference = e->u.jni_globalref_free.ref_id;
    refs[kind].env = current();
    refs[kind].is_valid = (*e->env_id)->GetObjectRefType(e->env_id, e->u.jni_globalref_free.ref_id) != JNIInvalidRefType;
}

static void notify(JVMPI_Event *e)
{
    switch (e->event_type) {
    case JVMPI_EVENT_JNI_GLOBALREF_ALLOC:
        made(e, 0);
        break;
    case JVMPI_EVENT_JNI_GLOBALREF_FREE:
        deleted(e, 1);
        break;
    case JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC:
        made(e, 2);
        break;
    case JVMPI_EVENT_JNI_WEAK_GLOBALREF_FREE:
        deleted(e, 3);
    }
}

static void references(JNIEnv *env, jobject object)
{
    jobject global, weak;
    jobjectID id = jvmpi->jobject2jobjectID(object);
    int i;

    owner = env;
    memset(refs, 0, sizeof refs);
    made_by_agent = 1;
    global = (*env)->NewGlobalRef(env, object);
    weak = (*env)->NewWeakGlobalRef(env, object);
    for (i = 0; i < 4; i += 2) {
        const char *name = i == 0 ? "references-001" : "references-003";

        expect_int(name, "events", refs[i].count, 1);
        expect(name, refs[i].object == id, "obj_id is another object");
        expect(name, refs[i].reference == (i == 0 ? global : weak), "ref_id is another reference");
        expect(name, refs[i].env == env, "it comes on another thread");
        done(name);
    }
    (*env)->DeleteGlobalRef(env, global);
    (*env)->DeleteWeakGlobalRef(env, weak);
    for (i = 1; i < 4; i += 2) {
        const char *name = i == 1 ? "references-002" : "references-004";

        expect_int(name, "events", refs[i].count, 1);
        expect(name, refs[i].reference == (i == 1 ? global : weak), "ref_id is another reference");
        expect(name, refs[i].env == env && refs[i].is_valid, "it comes when the reference is gone, or elsewhere");
        done(name);
    }
    (*env)->DeleteGlobalRef(env, (*env)->NewGlobalRef(env, NULL));
    judge("references-005", refs[0].count == 1 && refs[1].count == 1, "there are events of NULL");
    made_by_agent = 0;
}

static jint called(JNIEnv *env, const char *what, jint number, jobject object)
{
    references(env, object);
    return 0;
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    start(vm, notify);
    enable(JVMPI_EVENT_JNI_GLOBALREF_ALLOC);
    enable(JVMPI_EVENT_JNI_GLOBALREF_FREE);
    enable(JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC);
    enable(JVMPI_EVENT_JNI_WEAK_GLOBALREF_FREE);
    return JNI_OK;
}
