/*
 * dumps.c - asks for dumps when the program says so, and saves them in files of the working folder:
 * the bytes as they came, with the contents of CLASS_LOAD in "classes".
 *
 * Options: in=TYPE+TYPE... enables these events and asks for dumps in the first of each; shutdown=1
 * asks in JVM_SHUT_DOWN, after it has switched every event off; gc=1 asks in GC_FINISH, with a raw monitor
 * that it has entered in GC_START.
 */
#include <pthread.h>
#ifndef _WIN32
#include <sys/resource.h>
#endif

#include "call.h"

static pthread_mutex_t classes_lock = PTHREAD_MUTEX_INITIALIZER;
static JVMPI_RawMonitor agent_lock;
static jobjectID some_object;
static volatile int armed, owned, collected;
static int asked[JVMPI_MAX_EVENT_TYPE_VAL + 1];
/* The file for the dump that this thread has requested. */
static __thread const char *file_name;

static void save(const void *begin, size_t length)
{
    FILE *file = fopen(file_name, "wb");

    if (file == NULL || fwrite(begin, 1, length, file) != length || fclose(file) != 0)
        abort();
}

static void append(const char *path, const char *text)
{
    FILE *file = fopen(path, "a");

    if (file == NULL || fputs(text, file) == EOF || fclose(file) != 0)
        abort();
}

/* The first letters of the descriptors, or "-". */
static void letters(char *to, const JVMPI_Field *fields, int count)
{
    int i;

    for (i = 0; i < count; i++)
        to[i] = fields[i].field_signature[0];
    if (count == 0)
        to[i++] = '-';
    to[i] = '\0';
}

static void report_traces(const JVMPI_CallTrace *traces, int count)
{
    int i;

    for (i = 0; i < count; i++)
        report("trace file=%s env=%#lx", q(file_name), ID(traces[i].env_id));
}

static void learn_class(const JVMPI_Event *e)
{
    static char statics[70000], instances[70000], line[150000];

    pthread_mutex_lock(&classes_lock);
    letters(statics, e->u.class_load.statics, e->u.class_load.num_static_fields);
    letters(instances, e->u.class_load.instances, e->u.class_load.num_instance_fields);
    snprintf(line, sizeof line, "%#lx %d %s %s %s\n", ID(e->u.class_load.class_id), (int)e->u.class_load.num_interfaces, statics,
             instances, e->u.class_load.class_name);
    append("classes", line);
    pthread_mutex_unlock(&classes_lock);
}

static jint ask(jint type, void *argument, const char *file)
{
    jint result;
    const char *outer = file_name;

    file_name = file;
    result = jvmpi->RequestEvent(type, argument);
    file_name = outer;
    report("asked type=%d file=%s result=%d self=%#lx", (int)type, q(file), (int)result, ID(current_env()));
    return result;
}

static jint ask_for_heap(const char *file)
{
    return ask(JVMPI_EVENT_HEAP_DUMP, NULL, file);
}

/* All three kinds, under a lock of the agent's own. */
static void ask_for_all(const char *where)
{
    char file[64];

    jvmpi->RawMonitorEnter(agent_lock);
    snprintf(file, sizeof file, "heap-%s", where);
    CHECK(where, ask_for_heap(file) == JVMPI_SUCCESS);
    snprintf(file, sizeof file, "object-%s", where);
    CHECK(where, ask(JVMPI_EVENT_OBJECT_DUMP, some_object, file) == JVMPI_SUCCESS);
    snprintf(file, sizeof file, "monitors-%s", where);
    CHECK(where, ask(JVMPI_EVENT_MONITOR_DUMP, NULL, file) == JVMPI_SUCCESS);
    jvmpi->RawMonitorExit(agent_lock);
}

static void disable_everything(void)
{
    jint type;

    for (type = 1; type <= JVMPI_MAX_EVENT_TYPE_VAL; type++)
        jvmpi->DisableEvent(type, NULL);
}

/* The first event of a type that the options name. */
static void ask_inside(jint type)
{
    char where[16];

    if (armed && type <= JVMPI_MAX_EVENT_TYPE_VAL && asked[type] == 1) {
        asked[type] = 2;
        snprintf(where, sizeof where, "%d", (int)type);
        ask_for_all(where);
    }
}

static void notify(JVMPI_Event *e)
{
    switch (e->event_type) {
    case JVMPI_EVENT_CLASS_LOAD:
    case JVMPI_EVENT_CLASS_LOAD | JVMPI_REQUESTED_EVENT:
        learn_class(e);
        break;
    case JVMPI_EVENT_THREAD_START:
        report("thread name=%s env=%#lx id=%#lx", q(e->u.thread_start.thread_name),
               ID(e->u.thread_start.thread_env_id), ID(e->u.thread_start.thread_id));
        break;
    case JVMPI_EVENT_THREAD_START | JVMPI_REQUESTED_EVENT:
        report("unasked name=%s env=%#lx", q(e->u.thread_start.thread_name),
               ID(e->u.thread_start.thread_env_id));
        break;
    case JVMPI_EVENT_OBJECT_ALLOC | JVMPI_REQUESTED_EVENT:
        report("object_alloc env=%#lx", ID(e->env_id));
        break;
    case JVMPI_EVENT_GC_START:
        jvmpi->RawMonitorEnter(agent_lock);
        break;
    case JVMPI_EVENT_GC_FINISH:
        if (armed && !collected) {
            report("gc_finish env=%#lx lock=%#llx", ID(e->env_id), (unsigned long long)(uintptr_t)agent_lock);
            CHECK("in GC_FINISH", ask(JVMPI_EVENT_OBJECT_ALLOC, some_object, "") == JVMPI_SUCCESS
                  && ask(JVMPI_EVENT_MONITOR_DUMP, NULL, "monitors-gc") == JVMPI_SUCCESS);
            collected = 1;
        }
        jvmpi->RawMonitorExit(agent_lock);
        break;
    case JVMPI_EVENT_DATA_DUMP_REQUEST:
        ask_for_all("request");
        report("data_dumped");
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        if (option("shutdown", NULL) != NULL) {
            disable_everything();
            ask_for_all("shutdown");
        }
        break;
    case JVMPI_EVENT_HEAP_DUMP | JVMPI_REQUESTED_EVENT:
        save(e->u.heap_dump.begin, (size_t)(e->u.heap_dump.end - e->u.heap_dump.begin));
        report_traces(e->u.heap_dump.traces, e->u.heap_dump.num_traces);
        break;
    case JVMPI_EVENT_OBJECT_DUMP | JVMPI_REQUESTED_EVENT:
        save(e->u.object_dump.data, (size_t)e->u.object_dump.data_len);
        break;
    case JVMPI_EVENT_MONITOR_DUMP | JVMPI_REQUESTED_EVENT:
        report("monitor_dump file=%s env=%#lx", q(file_name), ID(e->env_id));
        save(e->u.monitor_dump.begin, (size_t)(e->u.monitor_dump.end - e->u.monitor_dump.begin));
        report_traces(e->u.monitor_dump.traces, e->u.monitor_dump.num_traces);
        break;
    default:
        ask_inside(e->event_type);
    }
}

static void from_system_thread(void *argument)
{
    ask_for_all("system");
    owned = 1;
}

/* Begins when the agent hears of no thread any more. */
static void be_late(void *argument)
{
    report("late env=%#lx", ID(current_env()));
    owned = 1;
    for (;;)
        pause();
}

static void collect(JNIEnv *env)
{
    jclass system = (*env)->FindClass(env, "java/lang/System");

    armed = 1;
    (*env)->CallStaticVoidMethod(env, system, (*env)->GetStaticMethodID(env, system, "gc", "()V"));
    CHECK("collected", WAIT_UNTIL(collected));
}

/* So little address space is left that the dump cannot be made, and everything else can. */
static void ask_without_memory(void)
{
#ifndef _WIN32
    struct rlimit limit, before;
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    if (file == NULL || fscanf(file, "%lu", &pages) != 1 || getrlimit(RLIMIT_AS, &before) != 0)
        abort();
    fclose(file);
    limit = before;
    limit.rlim_cur = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (24u << 20);
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        abort();
    CHECK("no memory", ask_for_heap("no-memory") == JVMPI_FAIL);
    if (setrlimit(RLIMIT_AS, &before) != 0)
        abort();
#endif
}

/* WHAT is a command, or a command and the name of a file: "heap FILE". */
static jlong called(JNIEnv *env, const char *what, jobject object)
{
    const char *blank = strchr(what, ' ');
    const char *file = blank != NULL ? strdup(blank + 1) : "";
    jobjectID id = jvmpi->jobject2jobjectID(object);

    if (strncmp(what, "heap", 4) == 0)
        return ask_for_heap(file);
    if (strncmp(what, "monitors", 8) == 0)
        return ask(JVMPI_EVENT_MONITOR_DUMP, NULL, file);
    if (strcmp(what, "remember") == 0)
        some_object = (*env)->NewGlobalRef(env, object) != NULL ? id : NULL;
    else if (strcmp(what, "arm") == 0)
        armed = 1;
    else if (strcmp(what, "collect") == 0)
        collect(env);
    else if (strcmp(what, "run_gc") == 0)
        jvmpi->RunGC();
    else if (strncmp(what, "here", 4) == 0)
        report("here who=%s env=%#lx", q(file), ID(env));
    else if (strcmp(what, "back") == 0)
        (*env)->CallVoidMethod(env, object, (*env)->GetMethodID(env, (*env)->GetObjectClass(env, object), "run", "()V"));
    else if (strncmp(what, "all", 3) == 0)
        ask_for_all(file);
    else if (strcmp(what, "disabled") == 0) {
        disable_everything();
        owned = 0;
        jvmpi->CreateSystemThread("late", JVMPI_NORMAL_PRIORITY, be_late);
        CHECK("late", WAIT_UNTIL(owned));
        ask_for_all("disabled");
    } else if (strcmp(what, "system") == 0) {
        owned = 0;
        jvmpi->CreateSystemThread("dumper", JVMPI_NORMAL_PRIORITY, from_system_thread);
        CHECK("system thread", WAIT_UNTIL(owned));
    } else if (strcmp(what, "no_memory") == 0)
        ask_without_memory();
    return (jlong)(uintptr_t)id;
}

ON_LOAD(notify)
{
    const char *type;

    agent_lock = jvmpi->RawMonitorCreate("_agent");
    ENABLE(JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_THREAD_START, JVMPI_EVENT_JVM_SHUT_DOWN,
           JVMPI_EVENT_DATA_DUMP_REQUEST);
    if (strcmp(option("gc", ""), "1") == 0)
        ENABLE(JVMPI_EVENT_GC_START, JVMPI_EVENT_GC_FINISH);
    for (type = option("in", NULL); type != NULL && *type != '\0'; type += *type == '+') {
        long n = strtol(type, (char **)&type, 10);

        asked[n] = 1;
        enable((jint)n);
    }
}
