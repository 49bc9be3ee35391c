/*
 * start.c - how an agent is started and gets the interface.
 */
#include "conform.h"

static volatile int first_handler, inits;
static int fresh_seen_first, fresh_seen_second;

static int is_fresh(const JVMPI_Event *e)
{
    return e->event_type == JVMPI_EVENT_CLASS_LOAD && strcmp(e->u.class_load.class_name, "Start$Fresh") == 0;
}

static void second(JVMPI_Event *e)
{
    fresh_seen_second |= is_fresh(e);
}

static void idle(void *argument)
{
}

static void first(JVMPI_Event *e)
{
    fresh_seen_first |= is_fresh(e);
    if (e->event_type != JVMPI_EVENT_JVM_INIT_DONE)
        return;
    count(&inits);
    expect("start-013", e->env_id != NULL && e->env_id == current(), "env_id is not the thread's");
    expect("start-007", e->env_id == current(), "GetEnv finds another JNIEnv than the event has");
    judge("start-014", jvmpi->CreateSystemThread("idle", JVMPI_NORMAL_PRIORITY, idle) == JNI_OK,
          "CreateSystemThread does not return JNI_OK");
    done("start-013");
    done("start-007");
}

/* As a library that has no JVM_OnLoad asks, in a native method. */
static void ask_late(JNIEnv *env)
{
    JavaVM *vm;
    JVMPI_Interface *table = NULL;

    judge("start-018", (*env)->GetJavaVM(env, &vm) == JNI_OK
              && (*vm)->GetEnv(vm, (void **)(void *)&table, jvmpi->version) == JNI_OK && table == jvmpi,
          "it does not return the table");
}

static jint called(JNIEnv *env, const char *what, jint number, jobject object)
{
    if (strcmp(what, "main") == 0) {
        ask_late(env);
        expect_int("start-012", "events before main", inits, 1);
        judge("start-016", inits > 0, "what was enabled before NotifyEvent was set did not come");
        jvmpi->NotifyEvent = second;
    } else if (strcmp(what, "end") == 0) {
        expect_int("start-012", "events at the end", inits, 1);
        done("start-012");
        expect("start-015", fresh_seen_second, "the new handler was not called");
        expect("start-015", !fresh_seen_first, "the old handler was called");
        done("start-015");
    } else if (strcmp(what, "refused") == 0)
        fail("start-017", "the program runs though JVM_OnLoad has failed");
    return 0;
}

/* All slots but the agent's own are filled. */
static int is_full(JVMPI_Interface *table, int is_1_1, int is_1_2)
{
    int full = table->EnableEvent != NULL && table->DisableEvent != NULL && table->RequestEvent != NULL;

    full &= table->GetCallTrace != NULL && table->ProfilerExit != NULL && table->RawMonitorCreate != NULL;
    full &= table->RawMonitorEnter != NULL && table->RawMonitorExit != NULL && table->RawMonitorWait != NULL;
    full &= table->RawMonitorNotifyAll != NULL && table->RawMonitorDestroy != NULL;
    full &= table->GetCurrentThreadCpuTime != NULL && table->SuspendThread != NULL;
    full &= table->ResumeThread != NULL && table->GetThreadStatus != NULL && table->ThreadHasRun != NULL;
    full &= table->CreateSystemThread != NULL && table->SetThreadLocalStorage != NULL;
    full &= table->GetThreadLocalStorage != NULL && table->DisableGC != NULL && table->EnableGC != NULL;
    full &= table->RunGC != NULL && table->GetThreadObject != NULL && table->GetMethodClass != NULL;
    if (is_1_1)
        full &= table->jobjectID2jobject != NULL && table->jobject2jobjectID != NULL;
    if (is_1_2)
        full &= table->SuspendThreadList != NULL && table->ResumeThreadList != NULL;
    return full;
}

static jint get(JavaVM *vm, jint version, JVMPI_Interface **table)
{
    *table = (JVMPI_Interface *)&inits;
    return (*vm)->GetEnv(vm, (void **)(void *)table, version);
}

static void versions(JavaVM *vm)
{
    JVMPI_Interface *table, *again;
    jint wrong[3];
    int i;

    wrong[0] = 0x10000000;
    wrong[1] = 0x10000004;
    wrong[2] = 0x1000ffff;
    judge("start-001", get(vm, JVMPI_VERSION_1, &table) == JNI_OK && is_full(table, 0, 0), "no full table");
    judge("start-002", get(vm, JVMPI_VERSION_1_1, &table) == JNI_OK && is_full(table, 1, 0), "no full table");
    judge("start-003", get(vm, JVMPI_VERSION_1_2, &table) == JNI_OK && is_full(table, 1, 1), "no full table");
    judge("start-005", table->version == JVMPI_VERSION_1_2, "the version is not the one that was asked for");
    for (i = 0; i < 3; i++) {
        expect_int("start-004", "result", get(vm, wrong[i], &table), JNI_EVERSION);
        expect("start-004", table == NULL, "the pointer is not NULL");
    }
    done("start-004");
    get(vm, JVMPI_VERSION_1, &table);
    get(vm, JVMPI_VERSION_1, &again);
    judge("start-006", table == again, "two calls give two tables");
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    judge("start-011", reserved == NULL, "reserved is not NULL");
    judge("start-009", options == NULL, "options is not NULL");
    judge("start-010", options != NULL && *options == '\0', "options is not an empty text");
    if (options != NULL && strcmp(options, "refuse") == 0) {
        done("start-017");
        return JNI_ERR;
    }
    expect_text("start-008", "options", options, "one,two=3:four five,, ");
    done("start-008");
    versions(vm);
    start(vm, NULL);
    enable(JVMPI_EVENT_JVM_INIT_DONE);
    enable(JVMPI_EVENT_CLASS_LOAD);
    jvmpi->NotifyEvent = first;
    return JNI_OK;
}
