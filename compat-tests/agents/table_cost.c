/*
 * table_cost.c - how often the functions allocate that agents call in every event. That is known when this library is
 * also preloaded, so that its malloc is everybody's.
 */
#include "agent.h"

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

/*
 * Allocations of the calling thread, in the storage that needs none itself. Volatile because the
 * compiler takes malloc for the one that it knows, which does not count.
 */
static __thread volatile long allocations __attribute__((tls_model("initial-exec")));

void *malloc(size_t size)
{
    allocations++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    allocations++;
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    allocations++;
    return __libc_realloc(memory, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    allocations++;
    return (*memory = __libc_memalign(alignment, size)) == NULL;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    allocations++;
    return __libc_memalign(alignment, size);
}

/* One line about the statement, which was run before so that nothing happens for the first time. */
#define MEASURE(name, statement) \
    do { \
        long times = atol(option("times", "1000")), i, before; \
        statement; \
        before = allocations; \
        for (i = 0; i < times; i++) \
            statement; \
        report("cost what=%s allocations=%ld", name, allocations - before); \
    } while (0)

static void *volatile kept;

static void measure(JNIEnv *env)
{
    JVMPI_RawMonitor monitor = jvmpi->RawMonitorCreate("cost");

    jvmpi->SetThreadLocalStorage(env, monitor);
    MEASURE("GetThreadLocalStorage", kept = jvmpi->GetThreadLocalStorage(env));
    MEASURE("SetThreadLocalStorage", jvmpi->SetThreadLocalStorage(env, kept));
    MEASURE("RawMonitorEnter_Exit", (jvmpi->RawMonitorEnter(monitor), jvmpi->RawMonitorExit(monitor)));
    MEASURE("GetThreadObject", kept = jvmpi->GetThreadObject(env));
    MEASURE("ThreadHasRun", kept = (void *)(intptr_t)jvmpi->ThreadHasRun(env));
    MEASURE("GetCurrentThreadCpuTime", kept = (void *)(intptr_t)jvmpi->GetCurrentThreadCpuTime());
    MEASURE("DisableGC_EnableGC", (jvmpi->DisableGC(), jvmpi->EnableGC()));
    jvmpi->RawMonitorDestroy(monitor);

    /* That the count counts. */
    MEASURE("malloc", (kept = malloc(16), free(kept)));
}

static void notify(JVMPI_Event *e)
{
    if (e->event_type == JVMPI_EVENT_JVM_INIT_DONE)
        measure(e->env_id);
}

ON_LOAD(notify)
{
    enable(JVMPI_EVENT_JVM_INIT_DONE);
}
