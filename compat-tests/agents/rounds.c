/*
 * rounds.c - a thread that does something in rounds, between which it waits with a limit.
 *
 * Options: again=y   in each round it does less, and in another order
 *          lock=y    in each round it makes calls with a lock of the system that THREAD_START takes, too. Without
 *                    again=y it then waits until an event wants the lock
 */
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "call.h"

static JVMPI_RawMonitor lock;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static JNIEnv *main_env;
static jobjectID object, string;
static volatile int rounds, starts, wanting;
static int is_again, has_lock, has_object, has_string;

static void ask_for(jobjectID type)
{
    jvmpi->RequestEvent(JVMPI_EVENT_CLASS_LOAD, type);
}

static void round_of(int number)
{
    int i;

    jvmpi->SuspendThread(NULL);
    for (i = 0; i < (is_again ? 1 : 3); i++)
        jvmpi->GetThreadStatus(main_env);
    if (number == 1) {
        ask_for(is_again ? string : object);
        ask_for(is_again ? object : string);
        jvmpi->GetThreadStatus(main_env);
    }
}

static void round_with_lock(void)
{
    pthread_mutex_lock(&mutex);
    jvmpi->GetThreadStatus(main_env);
    while (!is_again && !__atomic_load_n(&wanting, __ATOMIC_SEQ_CST))
        sched_yield();
    jvmpi->GetThreadStatus(main_env);
    pthread_mutex_unlock(&mutex);
}

static void thread_start(void)
{
    __atomic_add_fetch(&wanting, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_lock(&mutex);
    starts++;
    pthread_mutex_unlock(&mutex);
    __atomic_sub_fetch(&wanting, 1, __ATOMIC_SEQ_CST);
}

static void run(void *unused)
{
    for (;;) {
        jvmpi->RawMonitorEnter(lock);
        jvmpi->RawMonitorWait(lock, 1);
        jvmpi->RawMonitorExit(lock);
        rounds++;
        if (has_lock)
            round_with_lock();
        else
            round_of(rounds);
    }
}

static void class_load(const JVMPI_Event *e)
{
    int is_requested = (e->event_type & JVMPI_REQUESTED_EVENT) != 0;

    if (strcmp(e->u.class_load.class_name, "java.lang.Object") == 0) {
        object = e->u.class_load.class_id;
        has_object += is_requested;
    } else if (strcmp(e->u.class_load.class_name, "java.lang.String") == 0) {
        string = e->u.class_load.class_id;
        has_string += is_requested;
    }
}

static void notify(JVMPI_Event *e)
{
    switch (e->event_type) {
    case JVMPI_EVENT_CLASS_LOAD:
    case JVMPI_EVENT_CLASS_LOAD | JVMPI_REQUESTED_EVENT:
        class_load(e);
        break;
    case JVMPI_EVENT_THREAD_START:
        thread_start();
        break;
    case JVMPI_EVENT_JVM_INIT_DONE:
        main_env = e->env_id;
        jvmpi->CreateSystemThread("rounds", JVMPI_NORMAL_PRIORITY, run);
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        report("rounds number=%d object=%d string=%d starts=%d", rounds, has_object, has_string, starts);
    }
}

static jlong called(JNIEnv *env, const char *what, jobject object)
{
    return rounds;
}

ON_LOAD(notify)
{
    is_again = strcmp(option("again", ""), "y") == 0;
    lock = jvmpi->RawMonitorCreate("_rounds");
    has_lock = strcmp(option("lock", ""), "y") == 0;
    enable(has_lock ? JVMPI_EVENT_THREAD_START : JVMPI_EVENT_CLASS_LOAD);
    ENABLE(JVMPI_EVENT_JVM_INIT_DONE, JVMPI_EVENT_JVM_SHUT_DOWN);
}
