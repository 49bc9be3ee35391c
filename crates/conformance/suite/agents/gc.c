/*
 * gc.c - collections, and the deaths that they tell of.
 */
#include "conform.h"

enum { OBJECTS = 200 };

static JVMPI_RawMonitor lock;
static volatile int begun, ended, frees, frees_outside, nested, unmatched, elsewhere, known_env, moved;
static volatile int in_collection;
/* Of the thread that is told: what others are told of meanwhile is not what it has asked for. */
static __thread int begun_here, ended_here;
static JNIEnv *begun_env;
static pthread_t begun_on;
static volatile int enters;
static jlong used_objects, used_space, total_space;

static jobjectID objects[OBJECTS];
static int freed[OBJECTS], again;
static volatile int n;

static void gc_start(const JVMPI_Event *e)
{
    nested += in_collection;
    in_collection = 1;
    begun_env = e->env_id;
    begun_on = pthread_self();
    known_env = jvmpi->GetThreadLocalStorage(e->env_id) == &lock;
    if (enters)
        jvmpi->RawMonitorEnter(lock);
    begun++;
    begun_here++;
}

static void gc_finish(const JVMPI_Event *e)
{
    unmatched += !in_collection || e->env_id != begun_env;
    elsewhere += !pthread_equal(begun_on, pthread_self());
    used_objects = e->u.gc_info.used_objects;
    used_space = e->u.gc_info.used_object_space;
    total_space = e->u.gc_info.total_object_space;
    in_collection = 0;
    if (enters)
        jvmpi->RawMonitorExit(lock);
    ended++;
    ended_here++;
}

static void freed_one(jobjectID id)
{
    int i;

    frees++;
    frees_outside += !in_collection;
    elsewhere += !pthread_equal(begun_on, pthread_self());
    for (i = 0; i < n; i++)
        if (objects[i] == id)
            freed[i]++;
}

static void notify(JVMPI_Event *e)
{
    switch (e->event_type) {
    case JVMPI_EVENT_GC_START:
        gc_start(e);
        break;
    case JVMPI_EVENT_GC_FINISH:
        gc_finish(e);
        break;
    case JVMPI_EVENT_OBJECT_FREE:
        freed_one(e->u.obj_free.obj_id);
        break;
    case JVMPI_EVENT_THREAD_START:
        jvmpi->SetThreadLocalStorage(e->u.thread_start.thread_env_id, &lock);
    }
}

static void run_gc(void)
{
    int b = begun_here, e = ended_here;

    jvmpi->RunGC();
    expect_int("gc-001", "GC_START on this thread before the return", begun_here > b, 1);
    expect_int("gc-001", "GC_FINISH on this thread before the return", ended_here > e, 1);
    done("gc-001");
    expect("gc-002", ended > 0 && unmatched == 0, "GC_FINISH without GC_START, or with another env_id");
    judge("gc-002", begun > 0 && nested == 0, "GC_START in a collection");
    judge("gc-003", begun > 0 && known_env, "env_id is no thread that THREAD_START has told of");
    expect("gc-004", used_space > 0 && used_space <= total_space, "the bytes used are none or more than all");
    judge("gc-004", used_objects > 0, "no objects are used");
}

/* IDs of n objects in an array. */
static void remember(JNIEnv *env, jobjectArray array, int count)
{
    int i;

    for (i = 0; i < count && i < OBJECTS; i++) {
        jobject object = (*env)->GetObjectArrayElement(env, array, i);

        objects[i] = jvmpi->jobject2jobjectID(object);
        (*env)->DeleteLocalRef(env, object);
        freed[i] = 0;
    }
    n = i;
}

static int freed_from(int first, int last)
{
    int i, count = 0;

    for (i = first; i < last; i++) {
        count += freed[i] > 0;
        again += freed[i] > 1;
    }
    return count;
}

/* The first half of the objects is garbage. What is found dead late is told in a later collection. */
static void half_is_dead(void)
{
    int i;

    /* A function that does nothing finds nothing however often it is called. */
    for (i = 0; i < 1000 && freed_from(0, n / 2) < n / 2; i++) {
        jvmpi->RunGC();
        pause_ms(1);
    }
    expect_int("gc-005", "objects that have died", freed_from(0, n / 2), n / 2);
    expect_int("gc-005", "objects that were freed twice", again, 0);
    done("gc-005");
    expect_int("gc-006", "objects that live and were freed", freed_from(n / 2, n), 0);
    judge("gc-006", freed_from(0, n / 2) == n / 2, "those that are dead were not");
    for (i = 0; i < n / 2; i++) {
        expect("gc-015", jvmpi->jobjectID2jobject(objects[i]) == NULL, "it is some object's");
        expect_int("gc-015", "result of a request", jvmpi->RequestEvent(JVMPI_EVENT_OBJECT_ALLOC, objects[i]), JVMPI_FAIL);
    }
    judge("gc-015", n > 0 && freed[0], "there is none");
    judge("gc-007", frees > 0 && frees_outside == 0 && elsewhere == 0,
          "outside of GC_START and GC_FINISH, or on another thread");
}

static void java_gc(JNIEnv *env)
{
    jclass system = (*env)->FindClass(env, "java/lang/System");

    (*env)->CallStaticVoidMethod(env, system, (*env)->GetStaticMethodID(env, system, "gc", "()V"));
}

/* All of the objects are garbage. */
static void disabled(JNIEnv *env)
{
    int before, i, dead;

    jvmpi->DisableGC();
    jvmpi->DisableGC();
    before = begun;
    dead = freed_from(0, n);
    java_gc(env);
    expect_int("gc-008", "collections while it is disabled", begun - before, 0);
    /* More often than it takes to find all that is dead; who collects all the same gets the time to tell of it. */
    for (i = 0; i < 20 || (i < 1000 && begun > before && freed_from(0, n) == dead); i++) {
        java_gc(env);
        jvmpi->RunGC();
        pause_ms(2);
    }
    expect_int("gc-008", "collections while it is disabled", begun - before, 0);
    expect_int("gc-010", "collections by RunGC while it is disabled", begun - before, 0);
    expect_int("gc-009", "objects that died while it was disabled", freed_from(0, n) - dead, 0);
    jvmpi->EnableGC();
    java_gc(env);
    jvmpi->RunGC();
    expect_int("gc-011", "collections after one of two calls", begun - before, 0);
    jvmpi->EnableGC();
    before = begun_here;
    jvmpi->RunGC();
    expect("gc-008", begun_here > before, "none after it was enabled again");
    expect("gc-010", begun_here > before, "none after it was enabled again");
    expect("gc-011", begun_here > before, "none after the second call");
    done("gc-008");
    done("gc-010");
    done("gc-011");
    for (i = 0; i < 1000 && freed_from(0, n) < n; i++) {
        jvmpi->RunGC();
        pause_ms(1);
    }
    expect_int("gc-009", "objects that died after that", freed_from(0, n), n);
    done("gc-009");

    jvmpi->EnableGC();
    jvmpi->DisableGC();
    before = begun;
    java_gc(env);
    jvmpi->RunGC();
    expect_int("gc-012", "collections after a call too many and a DisableGC", begun - before, 0);
    jvmpi->EnableGC();
    before = begun_here;
    jvmpi->RunGC();
    judge("gc-012", begun_here > before, "none after it was enabled again");
}

static void under_lock(void)
{
    int before = ended_here;

    enters = 1;
    jvmpi->RawMonitorEnter(lock);
    jvmpi->RunGC();
    jvmpi->RawMonitorExit(lock);
    enters = 0;
    judge("gc-013", ended_here > before, "it does not end");
}

static jint called(JNIEnv *env, const char *what, jint number, jobject object)
{
    if (strcmp(what, "run") == 0)
        run_gc();
    else if (strcmp(what, "remember") == 0)
        remember(env, object, number);
    else if (strcmp(what, "half") == 0)
        half_is_dead();
    else if (strcmp(what, "disabled") == 0)
        disabled(env);
    else if (strcmp(what, "lock") == 0)
        under_lock();
    else if (strcmp(what, "collections") == 0)
        return ended;
    else if (strcmp(what, "java") == 0)
        judge("gc-014", begun > number && ended > number, "none is told");
    return 0;
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    start(vm, notify);
    lock = jvmpi->RawMonitorCreate("_lock");
    enable(JVMPI_EVENT_THREAD_START);
    enable(JVMPI_EVENT_GC_START);
    enable(JVMPI_EVENT_GC_FINISH);
    enable(JVMPI_EVENT_OBJECT_ALLOC);
    enable(JVMPI_EVENT_OBJECT_FREE);
    return JNI_OK;
}
