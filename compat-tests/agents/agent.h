/*
 * agent.h - what the test agents share: the interface, their options, and their report.
 *
 * A report is a file of lines `word key=value ...`; see src/report.rs. Its path is the option
 * out=PATH, or else the environment variable JVMPI_TEST_REPORT.
 */
#ifndef AGENT_H
#define AGENT_H

#include <fcntl.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "jvmpi.h"

#ifdef _WIN32
#include "on_windows.h"
#else
#define PRINTF printf
#define O_BINARY 0

/* Returns the memory that the C library has allocated for the VM, the shim and agents. */
static inline size_t memory_in_use(void)
{
    struct mallinfo2 memory = mallinfo2();

    return memory.uordblks + memory.hblkhd;
}

/* Returns true if a thread of this process sleeps, according to the system: the letter after its name. */
static inline int sleeps(pid_t thread)
{
    char path[64], stat[512] = "", *p;
    FILE *file;

    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)thread);
    file = fopen(path, "r");
    if (file == NULL)
        return 0;
    p = fgets(stat, sizeof stat, file) != NULL ? strrchr(stat, ')') : NULL;
    fclose(file);
    return p != NULL && p[2] == 'S';
}
#endif

static JVMPI_Interface *jvmpi;
static JavaVM *agent_vm;
static const char *agent_options = "";
static int report_file = -1;

/* The value of key in "key=value,key=value", or the fallback. */
static inline const char *option(const char *key, const char *fallback)
{
    const char *p = agent_options;
    size_t n = strlen(key);

    for (; p != NULL; p = strchr(p, ','), p += p != NULL)
        if (strncmp(p, key, n) == 0 && p[n] == '=')
            return strndup(p + n + 1, strcspn(p + n + 1, ","));
    return fallback;
}

/* Returns true if the option mode= has this value. */
static inline int mode_is(const char *mode)
{
    return strcmp(option("mode", ""), mode) == 0;
}

/*
 * One line of the report. It is one write to a file open for appending: lines of several threads
 * do not mix, and no lock is held that a suspended thread could keep.
 */
__attribute__((format(PRINTF, 1, 2)))
static inline void report(const char *format, ...)
{
    char line[16384];
    va_list arguments;
    int n;

    va_start(arguments, format);
    n = vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    if (n > (int)sizeof line - 2)
        n = (int)sizeof line - 2;
    line[n] = '\n';
    if (write(report_file, line, (size_t)n + 1) != n + 1)
        abort();
}

/* The string as a value: quoted, or NULL. Good for the next seven calls in this thread. */
static inline const char *q(const char *text)
{
    enum { COUNT = 8, SIZE = 2048 };
    static __thread char buffers[COUNT][SIZE];
    static __thread unsigned next;
    char *buffer = buffers[next++ % COUNT], *p = buffer;

    if (text == NULL)
        return "NULL";
    *p++ = '"';
    for (; *text != '\0' && p < buffer + SIZE - 6; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < ' ' || c == 0x7f)
            p += sprintf(p, "\\x%02x", c);
        else {
            if (c == '"' || c == '\\')
                *p++ = '\\';
            *p++ = (char)c;
        }
    }
    strcpy(p, "\"");
    return buffer;
}

/* An ID or pointer as a number, to be printed with %#lx. On Windows it has the lower half of a pointer. */
#define ID(pointer) ((unsigned long)(uintptr_t)(pointer))

/* A check that the agent makes itself. */
#define CHECK(name, condition) report("check name=\"%s\" ok=%d line=%d", name, !!(condition), __LINE__)

/* Opens the report. Everything that JVM_OnLoad does first. */
static inline void open_report(const char *options)
{
    const char *path;

    agent_options = options != NULL ? strdup(options) : "";
    path = option("out", getenv("JVMPI_TEST_REPORT"));
    report_file = path != NULL ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_BINARY, 0644) : -1;
    if (report_file < 0) {
        fprintf(stderr, "the agent has no report to write to\n");
        abort();
    }
}

/* Gets the interface and sets the handler. */
static inline void agent_start(JavaVM *vm, const char *options, void (*handler)(JVMPI_Event *))
{
    jint result;

    open_report(options);
    agent_vm = vm;
    result = (*vm)->GetEnv(vm, (void **)&jvmpi, JVMPI_VERSION_1_2);
    if (result != JNI_OK) {
        report("error what=GetEnv result=%d", (int)result);
        abort();
    }
    jvmpi->NotifyEvent = handler;
}

/* Enables an event. That it cannot be enabled shows in the report. */
static inline void enable(jint event)
{
    jint result = jvmpi->EnableEvent(event, NULL);

    if (result != JVMPI_SUCCESS)
        report("error what=EnableEvent type=%d result=%d", (int)event, (int)result);
}

/* Enables these events. */
#define ENABLE(...) enable_all((const jint[]){ __VA_ARGS__, 0 })

static inline void enable_all(const jint *events)
{
    for (; *events != 0; events++)
        enable(*events);
}

/* JVM_OnLoad: starts the agent with this handler, and runs the block after it. */
#define ON_LOAD(handler) \
    static void on_load(void); \
    JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) \
    { \
        agent_start(vm, options, handler); \
        on_load(); \
        return JNI_OK; \
    } \
    static void on_load(void)

/* Enables or disables the events of a list "1+3". */
static inline void switch_events(jint (*function)(jint, void *), const char *list)
{
    for (; *list != '\0'; list += strspn(list, "+")) {
        jint type = (jint)strtol(list, (char **)&list, 10), result = function(type, NULL);
        if (result != JVMPI_SUCCESS)
            report("error type=%d result=%d", (int)type, (int)result);
    }
}

/* Leaves the class file of a CLASS_LOAD_HOOK as it is. */
static inline void keep_class_file(JVMPI_Event *e)
{
    e->u.class_load_hook.new_class_data = e->u.class_load_hook.class_data;
    e->u.class_load_hook.new_class_data_len = e->u.class_load_hook.class_data_len;
}

/* Takes a trace of at most so many frames, for which there is room. */
static inline JVMPI_CallTrace call_trace(JNIEnv *env, JVMPI_CallFrame *frames, jint depth)
{
    JVMPI_CallTrace trace = { env, 0, frames };

    jvmpi->GetCallTrace(&trace, depth);
    return trace;
}

/* The method on top of the thread's call trace, or NULL if there is none. */
static inline jmethodID top_method(JNIEnv *env)
{
    JVMPI_CallFrame frame = { 0, NULL };

    call_trace(env, &frame, 1);
    return frame.method_id;
}

/* The calling thread's own JNIEnv, or NULL if it is not attached. */
static inline JNIEnv *current_env(void)
{
    JNIEnv *env = NULL;

    return (*agent_vm)->GetEnv(agent_vm, (void **)&env, JNI_VERSION_1_2) == JNI_OK ? env : NULL;
}

static inline long long nanos(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static inline void sleep_ms(long ms)
{
    struct timespec t = { ms / 1000, ms % 1000 * 1000000L };

    nanosleep(&t, NULL);
}

/* Waits for the condition without a limit: the test kills a process that hangs. Its value is true. */
#define WAIT_UNTIL(condition) \
    __extension__({ \
        while (!(condition)) \
            sleep_ms(1); \
        1; \
    })

#endif
