/*
 * lasting.c - what an agent keeps or reads beyond the fields of an event: names of requested CLASS_LOADs,
 * thread-local storage from before THREAD_START, the machine code of compiled methods.
 */
#include <pthread.h>

#include "agent.h"

enum { MAX = 300 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static jobjectID classes[MAX];
static struct { const char *kept; char *copy; } names[MAX];
static int class_count, name_count;
static JNIEnv *storing;
static long codes, code_bytes, empty, zero_codes;

static void learn_class(const JVMPI_Event *e)
{
    pthread_mutex_lock(&lock);
    if (e->event_type & JVMPI_REQUESTED_EVENT) {
        if (name_count < MAX) {
            names[name_count].kept = e->u.class_load.class_name;
            names[name_count++].copy = strdup(e->u.class_load.class_name);
        }
    } else if (class_count < MAX)
        classes[class_count++] = e->u.class_load.class_id;
    pthread_mutex_unlock(&lock);
}

static void read_code(const JVMPI_Event *e)
{
    const unsigned char *code = e->u.compiled_method_load.code_addr;
    jint size = e->u.compiled_method_load.code_size, i;
    long sum = 0;

    for (i = 0; i < size; i++)
        sum += code[i];
    pthread_mutex_lock(&lock);
    codes++;
    code_bytes += size;
    empty += size == 0;
    zero_codes += sum == 0;
    pthread_mutex_unlock(&lock);
}

/* Asks for classes that were announced, and stores something before the thread's THREAD_START. */
static void init_done(const JVMPI_Event *e)
{
    int i, count = class_count;

    for (i = 0; i < count; i++)
        jvmpi->RequestEvent(JVMPI_EVENT_CLASS_LOAD, classes[i]);
    storing = e->env_id;
    jvmpi->SetThreadLocalStorage(storing, &storing);
    enable(JVMPI_EVENT_THREAD_START);
}

static void notify(JVMPI_Event *e)
{
    int i, changed = 0;

    switch (e->event_type) {
    case JVMPI_EVENT_CLASS_LOAD:
    case JVMPI_EVENT_CLASS_LOAD | JVMPI_REQUESTED_EVENT:
        learn_class(e);
        break;
    case JVMPI_EVENT_COMPILED_METHOD_LOAD:
        read_code(e);
        break;
    case JVMPI_EVENT_JVM_INIT_DONE:
        init_done(e);
        break;
    case JVMPI_EVENT_THREAD_START:
        if (e->u.thread_start.thread_env_id == storing) {
            /* At the end another thread has the same environment, with nothing in it. */
            int is_kept = jvmpi->GetThreadLocalStorage(storing) == &storing;
            report("storage of=%s kept=%d", q(e->u.thread_start.thread_name), is_kept);
        }
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        for (i = 0; i < name_count; i++)
            changed += strcmp(names[i].kept, names[i].copy) != 0;
        report("names kept=%d changed=%d", name_count, changed);
        report("code methods=%ld bytes=%ld empty=%ld zeros=%ld", codes, code_bytes, empty, zero_codes);
    }
}

ON_LOAD(notify)
{
    ENABLE(JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_COMPILED_METHOD_LOAD, JVMPI_EVENT_COMPILED_METHOD_UNLOAD,
           JVMPI_EVENT_JVM_INIT_DONE, JVMPI_EVENT_JVM_SHUT_DOWN);
}
