/*
 * mutex.c - a lock of the system that is unknown to the VM: a thread of the agent's holds it while it
 * makes calls, and THREAD_START takes it.
 *
 * Options: again=y   the thread does not wait until an event wants the lock
 */
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "call.h"

static JVMPI_RawMonitor monitor;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static JNIEnv *main_env;
static volatile int rounds, starts, wanting;
static int is_again;

static void round_of_calls(void)
{
    pthread_mutex_lock(&mutex);
    jvmpi->GetThreadStatus(main_env);
    while (!is_again && !__atomic_load_n(&wanting, __ATOMIC_SEQ_CST))
        sched_yield();
    jvmpi->GetThreadStatus(main_env);
    rounds++;
    pthread_mutex_unlock(&mutex);
}

static void run(void *unused)
{
    for (;;) {
        jvmpi->RawMonitorEnter(monitor);
        jvmpi->RawMonitorWait(monitor, 1);
        jvmpi->RawMonitorExit(monitor);
        round_of_calls();
    }
}

static void thread_start(void)
{
    __atomic_add_fetch(&wanting, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_lock(&mutex);
    starts++;
    pthread_mutex_unlock(&mutex);
    __atomic_sub_fetch(&wanting, 1, __ATOMIC_SEQ_CST);
}

static void notify(JVMPI_Event *e)
{
    switch (e->event_type) {
    case JVMPI_EVENT_THREAD_START:
        thread_start();
        break;
    case JVMPI_EVENT_JVM_INIT_DONE:
        main_env = e->env_id;
        jvmpi->CreateSystemThread("mutex", JVMPI_NORMAL_PRIORITY, run);
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        report("mutex rounds=%d starts=%d", rounds, starts);
    }
}

static jlong called(JNIEnv *env, const char *what, jobject object)
{
    return rounds;
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    agent_start(vm, options, notify);
    is_again = strcmp(option("again", ""), "y") == 0;
    monitor = jvmpi->RawMonitorCreate("_mutex");
    enable(JVMPI_EVENT_THREAD_START);
    enable(JVMPI_EVENT_JVM_INIT_DONE);
    enable(JVMPI_EVENT_JVM_SHUT_DOWN);
    return JNI_OK;
}
