/*
 * bad_arguments.c - calls every function with arguments that name nothing. The first test is that the program
 * continues.
 */
#include "agent.h"

static void *zeros[64];

static void with_environment(const char *kind, JNIEnv *env)
{
    JVMPI_CallFrame frames[4];
    JVMPI_CallTrace trace = { env, 77, frames };
    JNIEnv *list[1] = { env };
    jint results[1] = { 0 };
    int something;

    report("kind name=%s", kind);
    CHECK("status", jvmpi->GetThreadStatus(env) == 0);
    CHECK("has run", jvmpi->ThreadHasRun(env) == JNI_FALSE);
    jvmpi->SuspendThread(env);
    jvmpi->ResumeThread(env);
    jvmpi->SuspendThreadList(1, list, results);
    CHECK("suspend result", results[0] != 0);
    results[0] = 0;
    jvmpi->ResumeThreadList(1, list, results);
    CHECK("resume result", results[0] != 0);
    jvmpi->SetThreadLocalStorage(env, &something);
    CHECK("storage", jvmpi->GetThreadLocalStorage(env) == NULL);
    CHECK("thread object", jvmpi->GetThreadObject(env) == NULL);
    jvmpi->GetCallTrace(&trace, 4);
    CHECK("trace", trace.num_frames == 0 && trace.env_id == env);
}

static void without_monitor(void)
{
    jvmpi->RawMonitorEnter(NULL);
    jvmpi->RawMonitorExit(NULL);
    jvmpi->RawMonitorWait(NULL, 0);
    jvmpi->RawMonitorWait(NULL, 10);
    jvmpi->RawMonitorNotifyAll(NULL);
    jvmpi->RawMonitorDestroy(NULL);
    jvmpi->RawMonitorDestroy(jvmpi->RawMonitorCreate(NULL));
    CHECK("monitors", 1);
}

static void without_ids(void)
{
    static void *points_to_zeros = zeros;

    /* From JDK 26 on method IDs are small numbers. */
    CHECK("small method", (jvmpi->GetMethodClass((jmethodID)0x10), 1));
    CHECK("wild method", jvmpi->GetMethodClass((jmethodID)0xdeadbeefdeadbee8) == NULL);
    CHECK("zeros as method", jvmpi->GetMethodClass((jmethodID)zeros) == NULL);
    CHECK("other data as method", jvmpi->GetMethodClass((jmethodID)&points_to_zeros) == NULL);
    CHECK("misaligned id", jvmpi->jobjectID2jobject((jobjectID)3) == NULL);
    CHECK("huge id", jvmpi->jobjectID2jobject((jobjectID)-16) == NULL);
}

static void without_pointers(JNIEnv *env)
{
    JVMPI_CallTrace trace = { env, 77, NULL };
    jint results[1] = { 77 };

    jvmpi->GetCallTrace(NULL, 4);
    jvmpi->GetCallTrace(&trace, 4);
    CHECK("no frames", trace.num_frames == 0);
    jvmpi->SuspendThreadList(0, &env, results);
    jvmpi->ResumeThreadList(-1, &env, results);
    CHECK("empty lists", results[0] == 77);
    jvmpi->SuspendThreadList(1, NULL, results);
    jvmpi->ResumeThreadList(1, NULL, results);
    jvmpi->SuspendThreadList(1, &env, NULL);
    jvmpi->ResumeThreadList(1, &env, NULL);
    CHECK("no function", jvmpi->CreateSystemThread("nothing", JVMPI_NORMAL_PRIORITY, NULL) == JNI_ERR);
    CHECK("pointers", 1);
}

static void notify(JVMPI_Event *e)
{
    with_environment("small", (JNIEnv *)0x10);
    with_environment("wild", (JNIEnv *)0xdeadbeefdeadbee8);
    with_environment("misaligned", (JNIEnv *)((char *)e->env_id + 1));
    with_environment("zeros", (JNIEnv *)zeros);
    without_monitor();
    without_ids();
    without_pointers(e->env_id);
}

ON_LOAD(notify)
{
    enable(JVMPI_EVENT_JVM_INIT_DONE);
}
