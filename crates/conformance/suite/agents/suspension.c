/*
 * suspension.c - suspending and resuming threads. The threads count by calling the agent, so that it can
 * see who goes on; one that is not suspended shows how long is long enough.
 */
#include "conform.h"

enum { MAX = 8 };

/*
 * How far a thread counts in many turns on the processor, of which the scheduler would have given another one
 * its share also when others want the processors too.
 */
enum { FAR = 2000000 };

static JNIEnv *threads[MAX];
static volatile long counts[MAX];
static JNIEnv *control_env, *waiter, *dead;
static volatile long control;
static jmethodID counting;

static void notify(JVMPI_Event *e)
{
    int i;

    if (e->event_type == JVMPI_EVENT_CLASS_LOAD && strcmp(e->u.class_load.class_name, "Suspension") == 0)
        for (i = 0; i < e->u.class_load.num_methods; i++)
            if (strcmp(e->u.class_load.methods[i].method_name, "count") == 0)
                counting = e->u.class_load.methods[i].method_id;
}

/* Whether the thread goes on before another one has counted so far. It may finish the step that it is in. */
static int moves(int thread, long steps)
{
    long before = counts[thread], end = control + steps;

    while (counts[thread] <= before + 1 && control < end)
        pause_ms(1);
    return counts[thread] > before + 1;
}

static int stands(int thread)
{
    return !moves(thread, FAR);
}

static int goes_on(int thread)
{
    return moves(thread, 8L * FAR);
}

static int has_frame_of_count(JNIEnv *env)
{
    JVMPI_CallFrame frames[8];
    JVMPI_CallTrace trace;
    int i;

    trace.env_id = env;
    trace.num_frames = -1;
    trace.frames = frames;
    jvmpi->GetCallTrace(&trace, 8);
    for (i = 0; i < trace.num_frames; i++)
        if (frames[i].method_id == counting && frames[i].lineno > 0)
            return 1;
    return 0;
}

static void one(JNIEnv *own)
{
    jint status;
    int is_traced;

    jvmpi->DisableGC();
    jvmpi->SuspendThread(threads[0]);
    expect("suspension-001", stands(0), "the thread goes on");
    status = jvmpi->GetThreadStatus(threads[0]);
    is_traced = has_frame_of_count(threads[0]);
    jvmpi->ResumeThread(threads[0]);
    expect("suspension-002", goes_on(0), "the thread does not go on");
    jvmpi->EnableGC();
    done("suspension-001");
    done("suspension-002");
    judge("suspension-007", status == JVMPI_THREAD_RUNNABLE || status == (JVMPI_THREAD_RUNNABLE | JVMPI_THREAD_SUSPENDED),
          "it is not the status of a thread that runs");
    judge("suspension-010", is_traced, "its trace has not the method that runs, with a line");

    jvmpi->DisableGC();
    jvmpi->SuspendThread(threads[0]);
    jvmpi->SuspendThread(threads[0]);
    expect("suspension-011", stands(0), "the thread goes on");
    jvmpi->ResumeThread(threads[0]);
    judge("suspension-011", goes_on(0), "the thread does not go on after one call");
    jvmpi->ResumeThread(threads[0]);
    jvmpi->SuspendThread(threads[0]);
    expect("suspension-012", stands(0), "the thread goes on");
    jvmpi->ResumeThread(threads[0]);
    judge("suspension-012", goes_on(0), "the thread does not go on");

    jvmpi->SuspendThread(NULL);
    jvmpi->SuspendThread(own);
    jvmpi->SuspendThread(dead);
    jvmpi->ResumeThread(NULL);
    jvmpi->ResumeThread(own);
    jvmpi->ResumeThread(dead);
    jvmpi->SuspendThread(threads[0]);
    expect("suspension-006", stands(0), "the next suspension has no effect");
    jvmpi->ResumeThread(threads[0]);
    judge("suspension-006", goes_on(0), "the next resumption has no effect");
    jvmpi->EnableGC();
}

static void lists(JNIEnv *own, int n)
{
    JNIEnv *list[3];
    jint results[MAX];
    int i;

    for (i = 0; i < n; i++)
        results[i] = 77;
    jvmpi->DisableGC();
    jvmpi->SuspendThreadList(n, threads, results);
    for (i = 0; i < n; i++) {
        expect_int("suspension-003", "result", results[i], 0);
        expect("suspension-003", stands(i), "a thread goes on");
        results[i] = 77;
    }
    jvmpi->ResumeThreadList(n, threads, results);
    for (i = 0; i < n; i++) {
        expect_int("suspension-004", "result", results[i], 0);
        expect("suspension-004", goes_on(i), "a thread does not go on");
    }
    done("suspension-003");
    done("suspension-004");

    list[0] = NULL;
    list[1] = own;
    list[2] = dead;
    memset(results, 0, sizeof results);
    jvmpi->SuspendThreadList(3, list, results);
    for (i = 0; i < 3; i++)
        expect("suspension-005", results[i] != 0, "a thread that cannot be suspended has the result 0");
    memset(results, 0, sizeof results);
    jvmpi->ResumeThreadList(3, list, results);
    for (i = 0; i < 3; i++)
        expect("suspension-005", results[i] != 0, "a thread that cannot be resumed has the result 0");
    done("suspension-005");
    jvmpi->EnableGC();
}

/*
 * A thread that waits for a processor when it is suspended may be said not to have run yet, so it is tried
 * again. One that does nothing must never be said to have run.
 */
static void has_run(void)
{
    int i, waiter_ran = 0, spinner_ran = 0;

    jvmpi->DisableGC();
    jvmpi->SuspendThread(threads[0]);
    jvmpi->SuspendThread(waiter);
    jvmpi->ThreadHasRun(threads[0]);
    jvmpi->ThreadHasRun(waiter);
    for (i = 0; i < 100 && !spinner_ran; i++) {
        jvmpi->ResumeThread(threads[0]);
        jvmpi->ResumeThread(waiter);
        goes_on(0);
        jvmpi->SuspendThread(threads[0]);
        jvmpi->SuspendThread(waiter);
        spinner_ran |= jvmpi->ThreadHasRun(threads[0]);
        waiter_ran |= jvmpi->ThreadHasRun(waiter);
    }
    jvmpi->ResumeThread(threads[0]);
    jvmpi->ResumeThread(waiter);
    jvmpi->EnableGC();
    judge("suspension-008", spinner_ran, "a thread that has run has not");
    expect("suspension-009", spinner_ran, "a thread that has run has not");
    judge("suspension-009", !waiter_ran, "a thread that waits has run");
}

static jint called(JNIEnv *env, const char *what, jint number, jobject object)
{
    if (strcmp(what, "step") == 0) {
        threads[number] = env;
        counts[number]++;
    } else if (strcmp(what, "control") == 0) {
        control_env = env;
        control++;
    } else if (strcmp(what, "dies") == 0)
        dead = env;
    else if (strcmp(what, "waits") == 0)
        waiter = env;
    else if (strcmp(what, "is waiting") == 0)
        return waiter != NULL && jvmpi->GetThreadStatus(waiter) == JVMPI_THREAD_CONDVAR_WAIT;
    else if (strcmp(what, "begun") == 0) {
        int i, begun = control > 0;

        for (i = 0; i < number; i++)
            begun &= counts[i] > 0;
        return begun;
    } else if (strcmp(what, "one") == 0)
        one(env);
    else if (strcmp(what, "lists") == 0)
        lists(env, number);
    else if (strcmp(what, "has run") == 0)
        has_run();
    return 0;
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    start(vm, notify);
    enable(JVMPI_EVENT_CLASS_LOAD);
    return JNI_OK;
}
