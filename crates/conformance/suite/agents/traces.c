/*
 * traces.c - call traces of the calling thread, and of one that waits.
 */
#include "methods.h"

enum { DEPTH = 200 };

static JVMPI_CallFrame frames[DEPTH];
static JVMPI_CallTrace trace;
static JNIEnv *waiter, *dead;

static void notify(JVMPI_Event *e)
{
    if (e->event_type == JVMPI_EVENT_CLASS_LOAD)
        learn_methods(e);
}

static int take(JNIEnv *env, jint depth)
{
    memset(frames, 0, sizeof frames);
    trace.env_id = env;
    trace.num_frames = 77;
    trace.frames = frames;
    jvmpi->GetCallTrace(&trace, depth);
    return trace.num_frames;
}

static int frame_is(int i, const char *type, const char *name)
{
    return i < trace.num_frames && is_method(frames[i].method_id, type, name);
}

static void of_caller(JNIEnv *env)
{
    static const char *const names[6] = { "call", "call", "third", "second", "first", "main" };
    int i, n, all = 1, known = 1, lines = 1, classes = 1;
    JVMPI_CallFrame innermost;

    n = take(env, DEPTH);
    for (i = 0; i < 6; i++)
        all &= frame_is(i, i <= 1 ? "Conform" : "Traces", names[i]);
    expect_int("traces-001", "frames", n, 6);
    judge("traces-001", all, "the frames are not those of the calls, callee first");
    judge("traces-007", trace.env_id == env && trace.frames == frames && n == 6, "env_id or frames has changed");
    expect_int("traces-004", "frames", n, 6);
    judge("traces-004", frames[6].method_id == NULL, "what lies behind the last frame was written to");
    expect_int("traces-005", "lineno of the native method on top", frames[0].lineno, -3);
    done("traces-005");
    for (i = 0; i < n && i < 6; i++) {
        const Method *m = method_of(frames[i].method_id);

        known &= m != NULL;
        /* These methods have all their code on one line. */
        if (m != NULL && i >= 2 && i <= 4)
            lines &= m->first_line > 0 && m->first_line == m->last_line && frames[i].lineno == m->first_line;
        jvmpi->DisableGC();
        classes &= m != NULL && jvmpi->GetMethodClass(frames[i].method_id) == m->class_id;
        jvmpi->EnableGC();
    }
    judge("traces-006", n == 6 && lines, "a line is not that of the call");
    judge("traces-011", n == 6 && known, "CLASS_LOAD has not told of a method");
    judge("traces-014", n == 6 && classes, "it is not the class that CLASS_LOAD has told of");

    innermost = frames[0];
    for (i = 1; i <= 5; i++) {
        expect_int("traces-002", "frames", take(env, i), i);
        expect("traces-002", frames[0].method_id == innermost.method_id, "they are not the innermost");
        expect("traces-002", frames[i].method_id == NULL, "a frame too many was written");
    }
    done("traces-002");
    expect_int("traces-003", "frames for depth 0", take(env, 0), 0);
    expect_int("traces-003", "frames for a negative depth", take(env, -1), 0);
    judge("traces-003", frames[0].method_id == NULL, "a frame was written");
}

static void of_others(JNIEnv *env)
{
    int n = take(waiter, DEPTH), waits = 0, runs = 0, i;

    for (i = 0; i < n; i++) {
        waits |= frame_is(i, "java.lang.Object", "wait");
        runs |= frame_is(i, "Traces", "run");
    }
    expect("traces-008", n >= 2 && frames[0].lineno == -3, "the native method on top has a line");
    expect("traces-008", frame_is(n - 1, "Traces", "run") && frames[n - 1].lineno > 0, "the outermost method has no line");
    judge("traces-008", n >= 2 && n < DEPTH && waits && runs, "it has not the methods that the thread is in");
    expect_int("traces-009", "frames of NULL", take(NULL, DEPTH), 0);
    expect_int("traces-009", "frames of a thread that has ended", take(dead, DEPTH), 0);
    judge("traces-009", take(env, DEPTH) > 0, "the caller has none");
}

static void recursion(JNIEnv *env, int depth)
{
    int n = take(env, DEPTH), same = 0, i;

    for (i = 0; i < n; i++)
        same += frame_is(i, "Traces", "recursive");
    expect_int("traces-010", "frames of the method", same, depth);
    done("traces-010");
}

/* The caller is a method of a class that the program has made without lines. */
static void without_lines(JNIEnv *env)
{
    int n = take(env, DEPTH), found = 0, i;

    for (i = 0; i < n; i++) {
        const Method *m = method_of(frames[i].method_id);

        if (m != NULL && strstr(m->type, "$Proxy") != NULL) {
            found = 1;
            expect_int("traces-015", "lineno", frames[i].lineno, -1);
        }
    }
    judge("traces-015", found, "the method is not in the trace");
}

static jint called(JNIEnv *env, const char *what, jint number, jobject object)
{
    if (strcmp(what, "trace") == 0)
        of_caller(env);
    else if (strcmp(what, "recursive") == 0)
        recursion(env, number);
    else if (strcmp(what, "constructor") == 0) {
        take(env, DEPTH);
        judge("traces-012", frame_is(2, "Traces$Made", "<init>"), "the constructor is not in the trace");
    } else if (strcmp(what, "initializer") == 0) {
        take(env, DEPTH);
        judge("traces-013", frame_is(2, "Traces$Initialized", "<clinit>"), "the initializer is not in the trace");
    } else if (strcmp(what, "without lines") == 0)
        without_lines(env);
    else if (strcmp(what, "waits") == 0)
        waiter = env;
    else if (strcmp(what, "is waiting") == 0)
        return waiter != NULL && jvmpi->GetThreadStatus(waiter) == JVMPI_THREAD_CONDVAR_WAIT;
    else if (strcmp(what, "dies") == 0)
        dead = env;
    else if (strcmp(what, "others") == 0)
        of_others(env);
    return 0;
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    start(vm, notify);
    trace.env_id = NULL;
    enable(JVMPI_EVENT_CLASS_LOAD);
    return JNI_OK;
}
