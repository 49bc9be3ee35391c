/*
 * threads.c - the beginning and end of threads, and what the functions tell of them.
 */
#include "conform.h"

enum { MAX = 256 };

typedef struct {
    JNIEnv *env;
    char name[64], group[64], parent[64];
    jobjectID id;
    int starts, ends, elsewhere, system;
    void *stored_at_start, *stored_at_end;
} Known;

static Known known[MAX];
static volatile int n;
static volatile int strings_missing, unmatched_ends, ends_elsewhere, late, events_after_end;
static volatile int ended_threads, inits, started_before_init, main_before_init, shut_down;
static char marks[MAX];
static int briefs;
static JVMPI_RawMonitor for_ever;
static volatile int never_returns, system_ran;
static JNIEnv *system_env, *dead;
static int system_argument_is_null, system_started_before;

/* The thread that has this JNIEnv now, or had it last. */
static Known *of(JNIEnv *env)
{
    int i;

    for (i = n - 1; i >= 0; i--)
        if (known[i].env == env)
            return &known[i];
    return NULL;
}

static Known *named(const char *name)
{
    int i;

    for (i = n - 1; i >= 0; i--)
        if (strcmp(known[i].name, name) == 0)
            return &known[i];
    return NULL;
}

static void copy(char *to, const char *from)
{
    if (from == NULL)
        strings_missing++;
    strncpy(to, from != NULL ? from : "", 63);
}

static void started(const JVMPI_Event *e)
{
    JNIEnv *env = e->u.thread_start.thread_env_id;
    Known *k;

    pthread_mutex_lock(&count_lock);
    k = of(env);
    expect("threads-001", k == NULL || k->ends > 0, "it comes twice for a thread");
    if (k == NULL || k->ends > 0)
        k = &known[n < MAX - 1 ? n : MAX - 1];
    k->env = env;
    copy(k->name, e->u.thread_start.thread_name);
    copy(k->group, e->u.thread_start.group_name);
    copy(k->parent, e->u.thread_start.parent_name);
    k->id = e->u.thread_start.thread_id;
    k->elsewhere = e->env_id != env || current() != env;
    k->starts++;
    expect("threads-008", k->id != NULL, "it is NULL");
    k->stored_at_start = jvmpi->GetThreadLocalStorage(env);
    expect("storage-002", k->stored_at_start == NULL, "it is not NULL in THREAD_START");
    if (k == &known[n])
        n++;
    pthread_mutex_unlock(&count_lock);
}

static void ended(const JVMPI_Event *e)
{
    Known *k;

    pthread_mutex_lock(&count_lock);
    k = of(e->env_id);
    if (k == NULL || k->ends > 0)
        unmatched_ends++;
    else {
        k->ends++;
        ended_threads++;
        k->stored_at_end = jvmpi->GetThreadLocalStorage(e->env_id);
    }
    ends_elsewhere += e->env_id != current();
    pthread_mutex_unlock(&count_lock);
}

static void at_init(const JVMPI_Event *e)
{
    started_before_init = n;
    main_before_init = of(e->env_id) != NULL;
}

static void at_end(void)
{
    done("threads-012");
    judge("system-006", never_returns, "the thread does not run");
    judge("threads-013", events_after_end == 0 && late > 0 && ended_threads > 0, "events come of a thread that has ended");
}

static void notify(JVMPI_Event *e)
{
    switch (e->event_type) {
    case JVMPI_EVENT_THREAD_START:
        started(e);
        break;
    case JVMPI_EVENT_THREAD_END:
        ended(e);
        break;
    case JVMPI_EVENT_JVM_INIT_DONE:
        count(&inits);
        at_init(e);
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        at_end();
        break;
    case JVMPI_EVENT_JNI_GLOBALREF_ALLOC:
        pthread_mutex_lock(&count_lock);
        late++;
        events_after_end += of(e->env_id) != NULL && of(e->env_id)->ends > 0;
        pthread_mutex_unlock(&count_lock);
    }
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

static void in_run(JNIEnv *env, jobject thread)
{
    Known *k;
    jobject same;

    pthread_mutex_lock(&count_lock);
    k = of(env);
    pthread_mutex_unlock(&count_lock);
    expect("threads-003", k != NULL && k->ends == 0, "run() is called before THREAD_START");
    if (k == NULL)
        return;
    expect("threads-002", !k->elsewhere, "it comes on another thread, or names one");
    jvmpi->DisableGC();
    expect("threads-008", k->id != NULL && jvmpi->GetThreadObject(env) == k->id, "GetThreadObject says another");
    same = jvmpi->jobjectID2jobject(k->id);
    expect("threads-008", same != NULL && (*env)->IsSameObject(env, same, thread), "it is another object");
    jvmpi->EnableGC();
    expect("storage-002", k->stored_at_start == NULL && jvmpi->GetThreadLocalStorage(env) == NULL,
           "it is not NULL at first");
    jvmpi->SetThreadLocalStorage(env, &marks[k - known]);
    expect("storage-002", jvmpi->GetThreadLocalStorage(env) == &marks[k - known], "what is stored is not there");
    (*env)->DeleteGlobalRef(env, (*env)->NewGlobalRef(env, thread));
}

/* The storage of each thread, as the thread itself sees it. */
static void in_run_again(JNIEnv *env)
{
    expect("storage-004", jvmpi->GetThreadLocalStorage(env) == &marks[of(env) - known],
           "it is not what the thread has stored");
}

/* As another thread sees it, which changes it. */
static void from_outside(JNIEnv *own, const char *name)
{
    Known *k = named(name);

    if (k == NULL)
        return;
    expect("storage-003", jvmpi->GetThreadLocalStorage(k->env) == &marks[k - known], "another thread reads something else");
    jvmpi->SetThreadLocalStorage(k->env, known);
    expect("storage-003", jvmpi->GetThreadLocalStorage(k->env) == known, "another thread's change is not read");
    jvmpi->SetThreadLocalStorage(k->env, &marks[k - known]);
    expect("storage-003", jvmpi->GetThreadLocalStorage(own) != &marks[k - known], "it goes to the caller instead");
}

/* Many threads get the JNIEnv of one before them, and leave something in its storage. */
static void brief(JNIEnv *env)
{
    briefs++;
    expect("storage-002", jvmpi->GetThreadLocalStorage(env) == NULL, "a later thread has what an earlier one stored");
    jvmpi->SetThreadLocalStorage(env, marks);
}

/* The names of a thread, its group and the parent of that. */
static void names_of(const char *name, const char *group, const char *parent)
{
    const Known *k = named(name);

    expect("threads-004", k != NULL, name);
    if (k != NULL) {
        expect_text("threads-005", "group", k->group, group);
        expect_text("threads-006", "parent", k->parent, parent);
    }
}

static void after_end(int threads)
{
    int i, starts = 0, ends = 0, kept = 0;

    for (i = 0; i < n; i++)
        if (strncmp(known[i].name, "worker-", 7) == 0) {
            starts += known[i].starts;
            ends += known[i].ends;
            kept += known[i].stored_at_end == &marks[i];
            expect_text("threads-005", "group", known[i].group, "inner");
            expect_text("threads-006", "parent", known[i].parent, "outer");
            dead = known[i].env;
        }
    expect_int("threads-001", "events", starts, threads);
    expect_int("threads-010", "events", ends, threads);
    expect_int("storage-005", "threads whose pointer was there", kept, threads);
    for (i = 0; i < threads; i++) {
        char name[32];

        sprintf(name, "worker-%d", i);
        expect("threads-004", named(name) != NULL, "the name of a thread is not its own");
    }
    names_of("main", "main", "system");
    names_of("Reference Handler", "system", "");
    names_of("", "inner", "outer");
    names_of("gr\303\266\303\237e \\ \"quoted\"\n\355\240\275\355\262\241", "outer", "main");
    expect("storage-002", briefs > 90, "there are no brief threads");
    expect("threads-005", starts > 0, "no thread starts");
    expect("threads-006", starts > 0, "no thread starts");
    expect("threads-002", starts > 0, "no thread starts");
    expect("storage-002", starts > 0, "no thread starts");
    expect("storage-003", starts > 0, "no thread starts");
    expect("storage-004", starts > 0, "no thread starts");
    done("threads-001");
    done("threads-002");
    done("threads-003");
    done("threads-004");
    done("threads-005");
    done("threads-006");
    expect("threads-007", n > threads, "the VM's own threads are missing");
    judge("threads-007", strings_missing == 0, "a string is NULL");
    expect("threads-008", starts > 0, "no thread starts");
    done("threads-008");
    expect_int("threads-009", "JVM_INIT_DONE", inits, 1);
    judge("threads-009", main_before_init && started_before_init > 1,
          "the main thread and the VM's own are not announced before JVM_INIT_DONE");
    done("threads-010");
    judge("threads-011", ends > 0 && ends_elsewhere == 0, "it comes on another thread");
    expect("threads-012", unmatched_ends == 0, "it comes without THREAD_START, or twice");
    expect("threads-012", ends > 0, "it does not come");
    done("storage-002");
    done("storage-003");
    done("storage-004");
    done("storage-005");
}

/* ---- Storage, objects, status and time ---------------------------------------------------------- */

static void own_storage(JNIEnv *env)
{
    jvmpi->SetThreadLocalStorage(env, marks);
    expect("storage-001", jvmpi->GetThreadLocalStorage(env) == marks, "it is not what was stored");
    jvmpi->SetThreadLocalStorage(env, NULL);
    judge("storage-001", jvmpi->GetThreadLocalStorage(env) == NULL, "it is not NULL again");
    jvmpi->SetThreadLocalStorage(env, marks + 1);
    jvmpi->SetThreadLocalStorage(NULL, marks);
    jvmpi->SetThreadLocalStorage(dead, marks);
    expect("storage-006", jvmpi->GetThreadLocalStorage(NULL) == NULL, "there is some for NULL");
    expect("storage-006", jvmpi->GetThreadLocalStorage(env) == marks + 1, "the caller's has changed");
    expect("storage-006", dead != NULL && jvmpi->GetThreadLocalStorage(dead) == NULL,
           "there is some for a thread that has ended");
    jvmpi->SetThreadLocalStorage(env, NULL);
    done("storage-006");
}

static void own_object(JNIEnv *env, jobject thread)
{
    jvmpi->DisableGC();
    judge("threads-014", jvmpi->GetThreadObject(env) != NULL
          && jvmpi->GetThreadObject(env) == jvmpi->jobject2jobjectID(thread), "it is another object's ID");
    expect("threads-015", jvmpi->GetThreadObject(NULL) == NULL, "NULL has one");
    expect("threads-015", jvmpi->GetThreadObject(dead) == NULL, "a thread that has ended has one");
    judge("threads-015", jvmpi->GetThreadObject(env) != NULL, "the caller has none");
    jvmpi->EnableGC();
}

static jlong cpu_clock(void)
{
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (jlong)time.tv_sec * 1000000000L + time.tv_nsec;
}

static void cpu_time(JNIEnv *env)
{
    const jlong spin = 20000000L; /* long beside what the clocks themselves take */
    jlong first, last, before, after, own;
    int i, backwards = 0;

    first = jvmpi->GetCurrentThreadCpuTime();
    before = cpu_clock();
    do
        after = cpu_clock();
    while (after - before < spin);
    last = jvmpi->GetCurrentThreadCpuTime();
    judge("cpu-001", last - first >= spin, "less than what the thread has used in nanoseconds");
    for (i = 0; i < 10000; i++) {
        own = jvmpi->GetCurrentThreadCpuTime();
        backwards += own < last;
        last = own;
    }
    judge("cpu-002", backwards == 0 && last > first, "it goes back, or stands");
    /* A thread that sleeps uses next to nothing, however busy the machine. */
    first = jvmpi->GetCurrentThreadCpuTime();
    pause_ms(50);
    own = jvmpi->GetCurrentThreadCpuTime() - first;
    judge("cpu-003", own < 25000000L && first > 0, "a sleep of 50 ms counts");
}

static jint status_of(const char *name)
{
    Known *k;

    pthread_mutex_lock(&count_lock);
    k = named(name);
    pthread_mutex_unlock(&count_lock);
    return k != NULL ? jvmpi->GetThreadStatus(k->env) : -1;
}

static jint with_status(const char *id, const char *name, jint expected)
{
    jint status = status_of(name);

    expect_int(id, "status", status, expected);
    done(id);
    return status;
}

static const char *const idle[3] = { "sleeps", "waits", "is parked" };

static void idle_status(void)
{
    int i;

    for (i = 0; i < 3; i++)
        expect_int("status-008", idle[i], status_of(idle[i]), JVMPI_THREAD_CONDVAR_WAIT);
    done("status-008");
    with_status("status-009", "accepts", JVMPI_THREAD_RUNNABLE);
}

static void no_status(JNIEnv *env)
{
    expect_int("status-001", "of the caller", jvmpi->GetThreadStatus(env), JVMPI_THREAD_RUNNABLE);
    done("status-001");
    expect_int("status-006", "of NULL", jvmpi->GetThreadStatus(NULL), 0);
    expect_int("status-006", "of a thread that has ended", jvmpi->GetThreadStatus(dead), 0);
    judge("status-006", jvmpi->GetThreadStatus(env) != 0, "the caller has none");
}

/* ---- System threads ------------------------------------------------------------------------------ */

static const char system_name[] = "a syst\303\250m thread";

static void system_thread(void *argument)
{
    Known *k;

    system_env = current();
    system_argument_is_null = argument == NULL;
    pthread_mutex_lock(&count_lock);
    k = of(system_env);
    system_started_before = k != NULL && k->ends == 0 && !k->elsewhere && strcmp(k->name, system_name) == 0;
    pthread_mutex_unlock(&count_lock);
    count(&system_ran);
}

static void stays(void *argument)
{
    jvmpi->RawMonitorEnter(for_ever);
    never_returns = 1;
    for (;;)
        jvmpi->RawMonitorWait(for_ever, 0);
}

static jint is_daemon, priorities[5];
static volatile int asked;

/* What Java knows of the calling thread. */
static jint ask_java(const char *method, const char *signature)
{
    JNIEnv *env = current();
    jclass type = (*env)->FindClass(env, "java/lang/Thread");
    jobject thread = (*env)->CallStaticObjectMethod(env, type,
        (*env)->GetStaticMethodID(env, type, "currentThread", "()Ljava/lang/Thread;"));
    jmethodID id = (*env)->GetMethodID(env, type, method, signature);

    return signature[2] == 'Z' ? (*env)->CallBooleanMethod(env, thread, id) : (*env)->CallIntMethod(env, thread, id);
}

static void ask(void *argument)
{
    is_daemon = ask_java("isDaemon", "()Z");
    priorities[asked] = ask_java("getPriority", "()I");
    count(&asked);
}

static void system_threads(void)
{
    static const jint wanted[5] = { JVMPI_MINIMUM_PRIORITY, JVMPI_NORMAL_PRIORITY, JVMPI_MAXIMUM_PRIORITY, 0, 99 };
    static const jint given[5] = { 1, 5, 10, 1, 10 };
    char name[sizeof system_name];
    jint result;
    int i;

    strcpy(name, system_name);
    result = jvmpi->CreateSystemThread(name, JVMPI_NORMAL_PRIORITY, system_thread);
    memset(name, 'x', sizeof name - 1);
    expect_int("system-002", "result", result, JNI_OK);
    WAIT_UNTIL(system_ran == 1);
    expect("system-002", system_env != NULL && system_env != current(), "it has no JNIEnv of its own");
    done("system-002");
    judge("system-003", system_ran && system_argument_is_null, "the function's argument is not NULL");
    judge("system-004", system_started_before, "THREAD_START with its name does not come before");
    WAIT_UNTIL(named(system_name) != NULL && named(system_name)->ends == 1);
    done("system-005");
    for (i = 0; i < 5; i++) {
        expect_int("system-007", "result", jvmpi->CreateSystemThread("asks", wanted[i], ask), JNI_OK);
        WAIT_UNTIL(asked == i + 1);
        expect_int("system-007", "priority", priorities[i], given[i]);
    }
    done("system-007");
    judge("system-008", asked && is_daemon, "it is no daemon");
    jvmpi->CreateSystemThread("stays", JVMPI_NORMAL_PRIORITY, stays);
    WAIT_UNTIL(never_returns);
}

/* ---- Native threads -------------------------------------------------------------------------------- */

static void *attaches(void *unused)
{
    JavaVMAttachArgs arguments;
    void *env = NULL;
    Known *k;

    arguments.version = JNI_VERSION_1_2;
    arguments.name = (char *)"native";
    arguments.group = NULL;
    if ((*the_vm)->AttachCurrentThread(the_vm, &env, &arguments) != JNI_OK)
        abort();
    k = named("native");
    expect("threads-016", k != NULL && k->env == env && !k->elsewhere, "it does not come on the thread");
    (*the_vm)->DetachCurrentThread(the_vm);
    expect("threads-016", k != NULL && k->ends == 1, "THREAD_END does not come");
    return NULL;
}

static void *is_never_attached(void *unused)
{
    /* A clock may advance in steps of some milliseconds. */
    while (jvmpi->GetCurrentThreadCpuTime() <= 0)
        ;
    expect_int("threads-017", "EnableEvent", jvmpi->EnableEvent(JVMPI_EVENT_CLASS_UNLOAD, NULL), JVMPI_SUCCESS);
    expect_int("threads-017", "DisableEvent", jvmpi->DisableEvent(JVMPI_EVENT_CLASS_UNLOAD, NULL), JVMPI_SUCCESS);
    judge("threads-017", current() == NULL, "it is attached");
    return NULL;
}

static void native_threads(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, attaches, NULL) != 0)
        abort();
    pthread_join(thread, NULL);
    done("threads-016");
    if (pthread_create(&thread, NULL, is_never_attached, NULL) != 0)
        abort();
    pthread_join(thread, NULL);
}

static jint called(JNIEnv *env, const char *what, jint number, jobject object)
{
    if (strcmp(what, "in run") == 0)
        in_run(env, object);
    else if (strcmp(what, "brief") == 0)
        brief(env);
    else if (strcmp(what, "in run again") == 0)
        in_run_again(env);
    else if (strncmp(what, "worker-", 7) == 0)
        from_outside(env, what);
    else if (strcmp(what, "after the end") == 0)
        after_end(number);
    else if (strcmp(what, "ended") == 0) {
        int i, ends = 0;

        pthread_mutex_lock(&count_lock);
        for (i = 0; i < n; i++)
            ends += strncmp(known[i].name, "worker-", 7) == 0 ? known[i].ends : 0;
        pthread_mutex_unlock(&count_lock);
        return ends;
    } else if (strcmp(what, "self") == 0) {
        own_storage(env);
        own_object(env, object);
        cpu_time(env);
        no_status(env);
        system_threads();
        native_threads();
    } else if (strcmp(what, "status") == 0)
        return status_of("blocked");
    else if (number > 0 && status_of(what) == number)
        return number;
    else if (strcmp(what, "idle") == 0)
        idle_status();
    else if (strcmp(what, "running") == 0)
        return with_status("status-002", "blocked", JVMPI_THREAD_RUNNABLE);
    else if (strcmp(what, "entering") == 0)
        return with_status("status-003", "blocked", JVMPI_THREAD_MONITOR_WAIT);
    else if (strcmp(what, "waiting") == 0)
        return with_status("status-004", "blocked", JVMPI_THREAD_CONDVAR_WAIT);
    else if (strcmp(what, "interrupted") == 0)
        return with_status("status-005", "blocked", JVMPI_THREAD_RUNNABLE | JVMPI_THREAD_INTERRUPTED);
    else if (strcmp(what, "suspended") == 0)
        return with_status("status-007", "blocked", JVMPI_THREAD_RUNNABLE | JVMPI_THREAD_SUSPENDED);
    return 0;
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    start(vm, notify);
    expect("cpu-001", jvmpi->GetCurrentThreadCpuTime() > 0, "none in JVM_OnLoad");
    for_ever = jvmpi->RawMonitorCreate("_for ever");
    expect_int("system-001", "result", jvmpi->CreateSystemThread("too early", JVMPI_NORMAL_PRIORITY, ask), JNI_ERR);
    done("system-001");
    enable(JVMPI_EVENT_THREAD_START);
    enable(JVMPI_EVENT_THREAD_END);
    enable(JVMPI_EVENT_JVM_INIT_DONE);
    enable(JVMPI_EVENT_JVM_SHUT_DOWN);
    enable(JVMPI_EVENT_JNI_GLOBALREF_ALLOC);
    return JNI_OK;
}
