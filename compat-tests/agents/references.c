/*
 * references.c - makes and deletes JNI references when the program asks, and checks their events.
 * References of others are reported: "alloc" and "free", with the type of the event.
 */
#include "call.h"

static void *originals[4];

/* The current action of the calling thread, and its events so far. */
static __thread struct {
    jint allocs, frees;
    jobjectID object;
    jobject reference;
    int busy, wrong;
    jlong root;
} own;

/*
 * The root record of the object in a heap dump: 2 if it has the reference, 1 if it has the object in
 * its place.
 */
static jlong root_of(const char *dump, size_t length)
{
    char record[1 + 2 * sizeof(void *)] = { JVMPI_GC_ROOT_JNI_GLOBAL };

    memcpy(record + 1, &own.object, sizeof own.object);
    memcpy(record + 1 + sizeof own.object, &own.reference, sizeof own.reference);
    if (memmem(dump, length, record, sizeof record) != NULL)
        return 2;
    memcpy(record + 1 + sizeof own.object, &own.object, sizeof own.object);
    return memmem(dump, length, record, sizeof record) != NULL;
}

static void notify(JVMPI_Event *e)
{
    int wrong = e->env_id != current_env();

    switch (e->event_type) {
    case JVMPI_EVENT_JNI_GLOBALREF_ALLOC:
    case JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC:
        if (!own.busy)
            report("alloc type=%d", (int)e->event_type);
        own.allocs = own.allocs * 100 + e->event_type;
        own.object = e->u.jni_globalref_alloc.obj_id;
        own.reference = e->u.jni_globalref_alloc.ref_id;
        break;
    case JVMPI_EVENT_JNI_GLOBALREF_FREE:
    case JVMPI_EVENT_JNI_WEAK_GLOBALREF_FREE:
        if (!own.busy)
            report("free type=%d", (int)e->event_type);
        own.frees = own.frees * 100 + e->event_type;
        wrong |= own.busy && e->u.jni_globalref_free.ref_id != own.reference;
        /* The reference is still good, and no exception is pending. */
        wrong |= (*e->env_id)->GetObjectRefType(e->env_id, e->u.jni_globalref_free.ref_id) == JNIInvalidRefType;
        wrong |= (*e->env_id)->FindClass(e->env_id, "java/lang/Object") == NULL;
        break;
    case JVMPI_EVENT_HEAP_DUMP | JVMPI_REQUESTED_EVENT:
        own.root = root_of(e->u.heap_dump.begin, (size_t)(e->u.heap_dump.end - e->u.heap_dump.begin));
        return;
    default:
        return;
    }
    own.wrong |= wrong;
}

static void table_of(JNIEnv *env, void *slots[4])
{
    slots[0] = (void *)(*env)->NewGlobalRef;
    slots[1] = (void *)(*env)->DeleteGlobalRef;
    slots[2] = (void *)(*env)->NewWeakGlobalRef;
    slots[3] = (void *)(*env)->DeleteWeakGlobalRef;
}

/* Returns the number of the four functions that differ from those before any event was enabled. */
static int replaced(JNIEnv *env)
{
    void *slots[4];
    int i, n = 0;

    table_of(env, slots);
    for (i = 0; i < 4; i++)
        n += slots[i] != originals[i];
    return n;
}

/*
 * Makes a reference and deletes it, as "strong", "weak" or, with an exception pending when it is
 * deleted, "pending". Returns the types of the events, first of the making, then of the deletion; -1
 * if anything in them was wrong.
 */
static jlong make(JNIEnv *env, const char *kind, jobject object)
{
    int weak = strcmp(kind, "weak") == 0, pending = strcmp(kind, "pending") == 0;
    jobject reference;

    memset(&own, 0, sizeof own);
    own.busy = 1;
    reference = weak ? (*env)->NewWeakGlobalRef(env, object) : (*env)->NewGlobalRef(env, object);
    if (own.allocs != 0)
        own.wrong |= own.reference != reference || own.object != jvmpi->jobject2jobjectID(object);
    own.reference = reference;
    if (pending)
        (*env)->ThrowNew(env, (*env)->FindClass(env, "java/lang/IllegalStateException"), "pending");
    if (weak)
        (*env)->DeleteWeakGlobalRef(env, reference);
    else
        (*env)->DeleteGlobalRef(env, reference);
    if (pending) {
        own.wrong |= !(*env)->ExceptionCheck(env);
        (*env)->ExceptionClear(env);
    }
    /* These have no events. */
    (*env)->DeleteGlobalRef(env, (*env)->NewGlobalRef(env, NULL));
    own.busy = 0;
    return own.wrong ? -1 : (jlong)own.allocs * 10000 + own.frees;
}

/* Returns the record of a reference in a heap dump. */
static jlong dump(JNIEnv *env, jobject object)
{
    memset(&own, 0, sizeof own);
    own.busy = 1;
    own.object = jvmpi->jobject2jobjectID(object);
    own.reference = (*env)->NewGlobalRef(env, object);
    own.wrong |= jvmpi->RequestEvent(JVMPI_EVENT_HEAP_DUMP, NULL) != JVMPI_SUCCESS;
    (*env)->DeleteGlobalRef(env, own.reference);
    own.busy = 0;
    return own.wrong ? -1 : own.root;
}

static jlong called(JNIEnv *env, const char *what, jobject object)
{
    static jobject kept;

    if (strncmp(what, "enable ", 7) == 0)
        return jvmpi->EnableEvent(atoi(what + 7), NULL);
    if (strncmp(what, "disable ", 8) == 0)
        return jvmpi->DisableEvent(atoi(what + 8), NULL);
    if (strcmp(what, "replaced") == 0)
        return replaced(env);
    if (strcmp(what, "dump") == 0)
        return dump(env, object);
    /* A reference that is older than the events, deleted later. */
    if (strcmp(what, "keep") == 0) {
        kept = (*env)->NewGlobalRef(env, object);
        return 0;
    }
    if (strcmp(what, "drop") == 0) {
        (*env)->DeleteGlobalRef(env, kept);
        return 0;
    }
    return make(env, what, object);
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    agent_start(vm, options, notify);
    table_of(current_env(), originals);
    enable(JVMPI_EVENT_THREAD_START);
    enable(JVMPI_EVENT_THREAD_END);
    enable(JVMPI_EVENT_CLASS_LOAD);
    return JNI_OK;
}
