/*
 * last_events.c - a collection during which the program ends. It lasts until all allocating threads
 * wait for its end, and the thread that ends the VM too; none of them may send an event after
 * JVM_SHUT_DOWN. Commands: "step": the calling thread allocates, and continues; "collect"; "end": the
 * calling thread ends the VM next, the collection has begun. Each returns the number of allocating
 * threads.
 */
#include "call.h"
#include "threads.h"

enum { ALLOCATORS = 16 };

typedef struct {
    pid_t thread;
    volatile int has_stepped, has_slept;
} Allocator;

static Allocator allocators[ALLOCATORS];
static volatile int places, count;
static volatile pid_t ending;
static volatile int is_asked_for, is_collecting, is_over, late;

/* Waiting threads wake again and again, so they do not all sleep at the same time. */
static int all_wait(void)
{
    static int ending_has_slept;
    int i, n = ending_has_slept |= ending != 0 && sleeps(ending);

    for (i = 0; i < count; i++)
        n += allocators[i].has_slept |= sleeps(allocators[i].thread);
    return n == ALLOCATORS + 1;
}

static int all_have_stepped(void)
{
    int i, n = 0;

    for (i = 0; i < count; i++)
        n += allocators[i].has_stepped;
    return n == ALLOCATORS;
}

static void notify(JVMPI_Event *e)
{
    int i;

    late += is_over;
    switch (e->event_type) {
    case JVMPI_EVENT_GC_START:
        if (is_asked_for) {
            is_collecting = 1;
            CHECK("all wait", WAIT_UNTIL(all_wait()));
            is_asked_for = 0;
        }
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        is_over = 1;
        for (i = 0; i < ALLOCATORS; i++)
            allocators[i].has_stepped = 0;
        CHECK("all go on", WAIT_UNTIL(all_have_stepped()));
        report("jvm_shut_down late=%d", late);
        break;
    }
}

static jlong called(JNIEnv *env, const char *what, jobject object)
{
    static __thread Allocator *self;

    if (strcmp(what, "step") == 0) {
        if (self == NULL) {
            self = &allocators[__sync_fetch_and_add(&places, 1)];
            self->thread = gettid();
            __sync_fetch_and_add(&count, 1);
        }
        self->has_stepped = 1;
    } else if (strcmp(what, "collect") == 0) {
        is_asked_for = 1;
        jvmpi->RunGC();
    } else if (strcmp(what, "end") == 0) {
        CHECK("it begins", WAIT_UNTIL(is_collecting));
        ending = gettid();
    }
    return count;
}

ON_LOAD(notify)
{
    ENABLE(JVMPI_EVENT_OBJECT_ALLOC, JVMPI_EVENT_GC_START, JVMPI_EVENT_JVM_SHUT_DOWN);
}
