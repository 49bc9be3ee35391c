/*
 * on_windows.h - functions of Linux that the agents use and that mingw lacks.
 */
#ifndef ON_WINDOWS_H
#define ON_WINDOWS_H

#define WIN32_LEAN_AND_MEAN
#define NOGDI
#include <windows.h>

#define PRINTF gnu_printf
/* Only libraries that are loaded are asked for. */
#define dlopen(path, flags) ((void *)GetModuleHandleA(path))
#define dlsym(library, name) ((void *)GetProcAddress((HMODULE)(library), name))

static inline pid_t gettid(void)
{
    return (pid_t)GetCurrentThreadId();
}

static inline int pause(void)
{
    Sleep(INFINITE);
    return -1;
}

static inline char *strndup(const char *text, size_t most)
{
    size_t length = strnlen(text, most);
    char *copy = calloc(length + 1, 1);

    return copy != NULL ? memcpy(copy, text, length) : NULL;
}

static inline void *memmem(const void *bytes, size_t length, const void *part, size_t size)
{
    const char *at = bytes, *last = at + length - size;

    for (; size <= length && at <= last; at++)
        if (memcmp(at, part, size) == 0)
            return (void *)at;
    return NULL;
}

/* Returns the memory in use in the heap from which the C library allocates. */
static inline size_t memory_in_use(void)
{
    PROCESS_HEAP_ENTRY entry = { .lpData = NULL };
    HANDLE heap = GetProcessHeap();
    size_t bytes = 0;

    HeapLock(heap);
    while (HeapWalk(heap, &entry))
        if (entry.wFlags & PROCESS_HEAP_ENTRY_BUSY)
            bytes += entry.cbData;
    HeapUnlock(heap);
    return bytes;
}

#endif
