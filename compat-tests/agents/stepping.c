/*
 * stepping.c - samples a thread at every instruction of compiled methods. The program is single-stepped: at each
 * instruction that is to be sampled, the handler of SIGTRAP waits until the sampler's signal is pending, which is then
 * delivered before the instruction is executed. For x86-64.
 *
 * The program calls Agent.call("compiled") for the number of compiled methods, Agent.call("begin") and Agent.call("end")
 * around what is stepped, and Agent.call("sampled") for the number of samples since the last such call.
 *
 * Options: class=NAME  the class with the sampled methods, all but main
 *          times=2     the number of samples of each instruction
 */
#include <signal.h>
#include <stdatomic.h>
#include <ucontext.h>

#include "call.h"
#include "methods.h"

enum {
    STEP = 0x100, /* the flag that traps after the next instruction */
    CODES = 1 << 10,
    DEPTH = 16,
    BYTES = 24,
    USED_NS = 60000, /* a thread that has used less CPU time has not run, for the sampler */
    RESTS = 20,
};

/* The code of a compiled method. */
typedef struct {
    uintptr_t start;
    size_t size;
    const Method *method;
    unsigned char *sampled; /* for each byte: how often the instruction there was sampled */
} Code;

/* An entry is complete before num_codes counts it, and never changes. */
static Code codes[CODES];
static atomic_int num_codes;
static int times;
static JVMPI_RawMonitor lock;

/* The thread that is stepped, and where it asked for the last sample. */
static _Atomic(JNIEnv *) stepped;
static _Atomic(Code *) place_code;
static atomic_size_t place_offset;
/* The numbers of samples that the thread has asked for, and that the sampler has taken. */
static atomic_long asked, taken, reported;
static atomic_int is_stepping, done, methods_compiled;

static long long cpu_time(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Waits without using the processor: a thread that sleeps for such a short time runs again soon, however busy the machine is. */
static void rest(void)
{
    struct timespec t = { 0, 10000 };

    nanosleep(&t, NULL);
}

static Code *code_at(uintptr_t address)
{
    int i;

    for (i = num_codes - 1; i >= 0; i--)
        if (address - codes[i].start < codes[i].size)
            return &codes[i];
    return NULL;
}

static int is_signal_pending(void)
{
    sigset_t pending;

    sigemptyset(&pending);
    sigpending(&pending);
    return !sigisemptyset(&pending);
}

/* Asks the sampler for this place, unless it is still busy with another. */
static void ask(Code *code, size_t offset)
{
    long long began = cpu_time();
    int i;

    while (cpu_time() - began < USED_NS)
        ;
    for (i = 0; taken < asked; i++, rest())
        if (i == RESTS)
            return;
    place_code = code;
    place_offset = offset;
    asked++;
    for (i = 0; i < RESTS && !is_signal_pending(); i++)
        rest();
}

/* The handler of SIGTRAP, which blocks all signals. */
static void step(int number, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    uintptr_t address = (uintptr_t)registers[REG_RIP];
    Code *code = code_at(address);

    if (is_stepping)
        registers[REG_EFL] |= STEP;
    else
        registers[REG_EFL] &= ~(greg_t)STEP;
    if (code != NULL && code->sampled[address - code->start] < times)
        ask(code, address - code->start);
}

/* The bytes around the place, to be read in a disassembler. */
static const char *bytes_around(uintptr_t place, char *text)
{
    int i;

    for (i = 0; i < BYTES; i++)
        sprintf(text + 2 * i, "%02x", ((const unsigned char *)place)[i - BYTES / 2]);
    return text;
}

static void report_sample(const JVMPI_CallTrace *trace, const Code *code, size_t offset)
{
    char stack[4096] = "", bytes[2 * BYTES + 1];
    size_t length = 0;
    int i;

    for (i = 0; i < trace->num_frames && length < sizeof stack; i++) {
        const Method *m = method_of(trace->frames[i].method_id);
        length += (size_t)snprintf(stack + length, sizeof stack - length, "%s%s", i > 0 ? ";" : "",
                                   m != NULL ? m->name : "?");
    }
    report("sample method=%s offset=%zu code=%s stack=%s", code->method->name, offset,
           bytes_around(code->start + offset, bytes), q(stack));
}

static void take_sample(JNIEnv *env, Code *code, size_t offset)
{
    JVMPI_CallFrame frames[DEPTH];
    JVMPI_CallTrace trace = { env, 0, frames };

    while (!done && trace.num_frames == 0) {
        if (jvmpi->ThreadHasRun(env))
            jvmpi->GetCallTrace(&trace, DEPTH);
        if (trace.num_frames == 0)
            rest();
    }
    jvmpi->RawMonitorEnter(lock);
    report_sample(&trace, code, offset);
    jvmpi->RawMonitorExit(lock);
    code->sampled[offset]++;
    reported++;
}

static void sample(void *unused)
{
    for (; !done; rest())
        if (taken < asked) {
            take_sample(stepped, place_code, place_offset);
            taken++;
        }
}

static int is_compiled_once(const Method *m)
{
    int i;

    for (i = 0; i < num_codes; i++)
        if (codes[i].method == m)
            return 1;
    return 0;
}

static jlong called(JNIEnv *unused, const char *what, jobject object)
{
    if (strcmp(what, "begin") == 0) {
        stepped = current_env();
        is_stepping = 1;
        raise(SIGTRAP);
    } else if (strcmp(what, "end") == 0) {
        is_stepping = 0;
    } else if (strcmp(what, "sampled") == 0) {
        return atomic_exchange(&reported, 0);
    } else if (strcmp(what, "compiled") == 0) {
        return methods_compiled;
    }
    return 0;
}

/* Learns the code of a method of the class. main is none of them: it runs once. */
static void add_code(const JVMPI_Event *e)
{
    const Method *m = method_of(e->u.compiled_method_load.method_id);
    const char *name = option("class", "");
    size_t size = (size_t)e->u.compiled_method_load.code_size, length = strlen(name);
    Code *code = &codes[num_codes];

    if (m == NULL || strncmp(m->name, name, length) != 0 || m->name[length] != '.'
        || strcmp(m->name + length, ".main") == 0 || num_codes == CODES)
        return;
    *code = (Code){ (uintptr_t)e->u.compiled_method_load.code_addr, size, m, calloc(size, 1) };
    if (code->sampled == NULL)
        abort();
    methods_compiled += !is_compiled_once(m);
    num_codes++;
}

static void step_and_sample(void)
{
    struct sigaction action = { .sa_sigaction = step, .sa_flags = SA_SIGINFO };

    sigfillset(&action.sa_mask);
    sigaction(SIGTRAP, &action, NULL);
    if (jvmpi->CreateSystemThread("stepping", JVMPI_MAXIMUM_PRIORITY, sample) != JNI_OK)
        abort();
}

static void notify(JVMPI_Event *e)
{
    switch (e->event_type) {
    case JVMPI_EVENT_JVM_INIT_DONE:
        step_and_sample();
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        done = 1;
        break;
    default:
        jvmpi->RawMonitorEnter(lock);
        if (e->event_type == JVMPI_EVENT_CLASS_LOAD)
            learn_methods(e);
        else
            add_code(e);
        jvmpi->RawMonitorExit(lock);
    }
}

ON_LOAD(notify)
{
    times = atoi(option("times", "2"));
    lock = jvmpi->RawMonitorCreate("_stepping");
    ENABLE(JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_COMPILED_METHOD_LOAD, JVMPI_EVENT_JVM_INIT_DONE,
           JVMPI_EVENT_JVM_SHUT_DOWN);
}
