/*
 * moved.c - what JVMPI agents do, with JVMTI: prints classes, threads, contention with stack traces, the live objects
 * of each class, and the method that used the most processor time.
 *
 *     java -agentpath:./libmoved.so Main
 */
#include <jvmti.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static jvmtiEnv *jvmti;
static jrawMonitorID lock, timer;

static int failed(jvmtiError error, const char *call)
{
    char *name = NULL;

    if (error == JVMTI_ERROR_NONE)
        return 0;
    (*jvmti)->GetErrorName(jvmti, error, &name);
    fprintf(stderr, "%s: %s\n", call, name != NULL ? name : "unknown error");
    (*jvmti)->Deallocate(jvmti, (unsigned char *)name);
    return 1;
}

/* ---- Names and lines ---- */

/* Returns "com.acme.Foo", or "[I" for an array; to be freed. */
static char *name_of(jclass type)
{
    char *signature = NULL, *name, *p;

    if (failed((*jvmti)->GetClassSignature(jvmti, type, &signature, NULL), "GetClassSignature"))
        return strdup("?");
    name = strdup(signature + (signature[0] == 'L'));
    for (p = name; *p != '\0'; p++)
        if (*p == '/' || *p == ';')
            *p = *p == '/' ? '.' : '\0';
    (*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
    return name;
}

/* Takes 0.1 us: a profiler keeps the table of each method. */
static jint line_of(jmethodID method, jlocation location)
{
    jvmtiLineNumberEntry *lines;
    jlocation start = -1;
    jint count, i, line = -1;

    if ((*jvmti)->GetLineNumberTable(jvmti, method, &count, &lines) != JVMTI_ERROR_NONE)
        return -1; /* a native method, or one compiled without lines */
    for (i = 0; i < count; i++)
        if (lines[i].start_location <= location && lines[i].start_location > start) {
            start = lines[i].start_location;
            line = lines[i].line_number;
        }
    (*jvmti)->Deallocate(jvmti, (unsigned char *)lines);
    return line;
}

static void print_frame(JNIEnv *env, jmethodID method, jlocation location)
{
    jclass declaring;
    char *name, *class_name;

    if (failed((*jvmti)->GetMethodDeclaringClass(jvmti, method, &declaring), "GetMethodDeclaringClass"))
        return; /* its class has been unloaded */
    if (!failed((*jvmti)->GetMethodName(jvmti, method, &name, NULL, NULL), "GetMethodName")) {
        class_name = name_of(declaring);
        printf("  %s.%s:%d\n", class_name, name, (int)line_of(method, location));
        free(class_name);
        (*jvmti)->Deallocate(jvmti, (unsigned char *)name);
    }
    (*env)->DeleteLocalRef(env, declaring);
}

/* ---- Stack traces ---- */

static void print_stack(JNIEnv *env, jthread thread) /* NULL: the current thread */
{
    jvmtiFrameInfo frames[8];
    jint count, i;

    if (!failed((*jvmti)->GetStackTrace(jvmti, thread, 0, 8, frames, &count), "GetStackTrace"))
        for (i = 0; i < count; i++)
            print_frame(env, frames[i].method, frames[i].location);
}

/* ---- Object IDs ---- */

static jlong id_of(jobject object)
{
    static jlong last; /* guarded by lock: two threads must not both give the object an ID */
    jlong tag = 0;

    (*jvmti)->RawMonitorEnter(jvmti, lock);
    if (!failed((*jvmti)->GetTag(jvmti, object, &tag), "GetTag") && tag == 0) {
        tag = ++last;
        failed((*jvmti)->SetTag(jvmti, object, tag), "SetTag");
    }
    (*jvmti)->RawMonitorExit(jvmti, lock);
    return tag;
}

/* Returns a local reference, or NULL if the object is dead. */
static jobject object_of(jlong id)
{
    jobject *found, object = NULL;
    jint count;

    if (failed((*jvmti)->GetObjectsWithTags(jvmti, 1, &id, &count, &found, NULL), "GetObjectsWithTags"))
        return NULL;
    if (count == 1)
        object = found[0];
    (*jvmti)->Deallocate(jvmti, (unsigned char *)found);
    return object;
}

/* ---- Classes ---- */

typedef struct Known {
    struct Known *next;
    jlong id;
    char *name;
} Known;

static Known *known; /* guarded by lock */
static Known *dead;  /* a list without a lock */

static void JNICALL class_prepare(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jclass type)
{
    Known *k = malloc(sizeof *k);

    k->id = id_of(type);
    k->name = name_of(type);
    (*jvmti)->RawMonitorEnter(jvmti, lock);
    k->next = known;
    known = k;
    printf("class %s is loaded\n", k->name);
    (*jvmti)->RawMonitorExit(jvmti, lock);
}

static void JNICALL object_free(jvmtiEnv *jvmti, jlong id)
{
    Known *d = malloc(sizeof *d);

    d->id = id;
    d->next = __atomic_load_n(&dead, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&dead, &d->next, d, 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
}

static void report_unloaded(void)
{
    Known *d = __atomic_exchange_n(&dead, NULL, __ATOMIC_ACQUIRE), *next, *k;

    (*jvmti)->RawMonitorEnter(jvmti, lock);
    for (; d != NULL; d = next) {
        for (k = known; k != NULL && k->id != d->id; k = k->next)
            ;
        if (k != NULL) /* else it was no class */
            printf("class %s is unloaded\n", k->name);
        next = d->next;
        free(d);
    }
    (*jvmti)->RawMonitorExit(jvmti, lock);
}

/* ---- Threads ---- */

static char *thread_name(JNIEnv *env, jthread thread)
{
    jvmtiThreadInfo info;
    char *name;

    if (failed((*jvmti)->GetThreadInfo(jvmti, thread, &info), "GetThreadInfo"))
        return strdup("?");
    name = strdup(info.name);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)info.name);
    (*env)->DeleteLocalRef(env, info.thread_group);
    (*env)->DeleteLocalRef(env, info.context_class_loader);
    return name;
}

static void JNICALL thread_start(jvmtiEnv *jvmti, JNIEnv *env, jthread thread)
{
    char *name = thread_name(env, thread);

    printf("thread %s starts\n", name);
    free(name);
}

static void JNICALL thread_end(jvmtiEnv *jvmti, JNIEnv *env, jthread thread)
{
    char *name = thread_name(env, thread);

    printf("thread %s ends\n", name);
    free(name);
}

/* ---- Monitors ---- */

static void monitor(JNIEnv *env, jthread thread, jobject object, const char *what)
{
    char *name = thread_name(env, thread), *type;
    jlong id = id_of(object); /* in place of a jobjectID */
    jobject same = object_of(id);
    jclass its_class = (*env)->GetObjectClass(env, same);

    type = name_of(its_class);
    (*jvmti)->RawMonitorEnter(jvmti, lock); /* keeps the lines together */
    printf("%s %s %s\n", name, what, type);
    print_stack(env, thread);
    (*jvmti)->RawMonitorExit(jvmti, lock);
    (*env)->DeleteLocalRef(env, its_class);
    (*env)->DeleteLocalRef(env, same);
    free(type);
    free(name);
}

static void JNICALL contended_enter(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jobject object)
{
    monitor(env, thread, object, "wants to enter");
}

static void JNICALL contended_entered(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jobject object)
{
    monitor(env, thread, object, "has entered");
}

static void JNICALL wait_begins(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jobject object, jlong timeout)
{
    monitor(env, thread, object, "waits for");
}

/* ---- Collections ---- */

static long collections;

static void JNICALL gc_start(jvmtiEnv *jvmti)
{
    __atomic_add_fetch(&collections, 1, __ATOMIC_RELAXED); /* no JNI, no JVMTI, no lock */
}

/* ---- The heap ---- */

static jint JNICALL reference(jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo *info,
                              jlong class_tag, jlong referrer_class_tag, jlong size, jlong *tag,
                              jlong *referrer_tag, jint length, void *counts)
{
    if (*tag == 0) { /* not visited yet */
        *tag = -1;
        ((long *)counts)[class_tag]++;
    }
    return JVMTI_VISIT_OBJECTS;
}

static void count_instances(JavaVM *vm, JNIEnv *env)
{
    jvmtiEnv *walker;
    jvmtiCapabilities wanted = { 0 };
    jvmtiHeapCallbacks callbacks = { 0 };
    jclass *classes;
    jint count, i;
    long *counts;

    wanted.can_tag_objects = 1;
    if ((*vm)->GetEnv(vm, (void **)&walker, JVMTI_VERSION_11) != JNI_OK
        || failed((*walker)->AddCapabilities(walker, &wanted), "AddCapabilities"))
        return;
    (*env)->PushLocalFrame(env, 16);
    failed((*walker)->GetLoadedClasses(walker, &count, &classes), "GetLoadedClasses");
    for (i = 0; i < count; i++)
        (*walker)->SetTag(walker, classes[i], i + 1);
    counts = calloc((size_t)count + 1, sizeof *counts);
    callbacks.heap_reference_callback = reference;
    failed((*walker)->FollowReferences(walker, 0, NULL, NULL, &callbacks, counts), "FollowReferences");
    for (i = 0; i < count; i++) {
        char *name = name_of(classes[i]);
        if (counts[i + 1] > 0)
            printf("%ld instances of %s\n", counts[i + 1], name);
        free(name);
    }
    (*env)->PopLocalFrame(env, NULL);
    free(counts);
    (*walker)->Deallocate(walker, (unsigned char *)classes);
    (*walker)->DisposeEnvironment(walker); /* and its tags */
}

/* ---- Sampling ---- */

typedef struct Hit {
    struct Hit *next;
    jmethodID method;
    long count;
} Hit;

static Hit *hits; /* guarded by timer */
static int done;  /* likewise */

/* Takes a sample of a thread that has used processor time since the last one. */
static void sample(jthread thread)
{
    jvmtiFrameInfo top;
    jint count;
    jlong used;
    void *before = NULL;
    Hit *h;

    if ((*jvmti)->GetThreadCpuTime(jvmti, thread, &used) != JVMTI_ERROR_NONE
        || (*jvmti)->GetThreadLocalStorage(jvmti, thread, &before) != JVMTI_ERROR_NONE
        || (intptr_t)used == (intptr_t)before)
        return; /* has it ended? GetThreadCpuTime says JVMTI_ERROR_THREAD_NOT_ALIVE */
    (*jvmti)->SetThreadLocalStorage(jvmti, thread, (void *)(intptr_t)used);
    if ((*jvmti)->GetStackTrace(jvmti, thread, 0, 1, &top, &count) != JVMTI_ERROR_NONE || count == 0)
        return;
    for (h = hits; h != NULL && h->method != top.method; h = h->next)
        ;
    if (h == NULL) {
        h = calloc(1, sizeof *h);
        h->method = top.method;
        h->next = hits;
        hits = h;
    }
    h->count++;
}

static void JNICALL sampler(jvmtiEnv *jvmti, JNIEnv *env, void *unused)
{
    jthread *threads;
    jint count, i;

    (*jvmti)->RawMonitorEnter(jvmti, timer);
    for (;;) {
        (*jvmti)->RawMonitorWait(jvmti, timer, 10);
        if (done) /* after VMDeath the calls below would return JVMTI_ERROR_WRONG_PHASE */
            break;
        report_unloaded();
        if (failed((*jvmti)->GetAllThreads(jvmti, &count, &threads), "GetAllThreads"))
            break;
        for (i = 0; i < count; i++) {
            sample(threads[i]);
            (*env)->DeleteLocalRef(env, threads[i]); /* this function never returns to Java */
        }
        (*jvmti)->Deallocate(jvmti, (unsigned char *)threads);
    }
    (*jvmti)->RawMonitorExit(jvmti, timer);
}

/* ---- Start and end ---- */

static void JNICALL vm_init(jvmtiEnv *jvmti, JNIEnv *env, jthread thread)
{
    jclass type = (*env)->FindClass(env, "java/lang/Thread"), *classes;
    jmethodID constructor = (*env)->GetMethodID(env, type, "<init>", "(Ljava/lang/String;)V");
    jstring name = (*env)->NewStringUTF(env, "sampler");
    jthread agent = (*env)->NewObject(env, type, constructor, name), *threads;
    jint count, i, status;

    if (failed((*jvmti)->RunAgentThread(jvmti, agent, sampler, NULL, JVMTI_THREAD_MAX_PRIORITY),
               "RunAgentThread"))
        exit(1);
    if (!failed((*jvmti)->GetAllThreads(jvmti, &count, &threads), "GetAllThreads")) {
        for (i = 0; i < count; i++)
            thread_start(jvmti, env, threads[i]);
        (*jvmti)->Deallocate(jvmti, (unsigned char *)threads);
    }
    (*env)->PushLocalFrame(env, 16); /* GetLoadedClasses makes a local reference for each class */
    if (!failed((*jvmti)->GetLoadedClasses(jvmti, &count, &classes), "GetLoadedClasses")) {
        for (i = 0; i < count; i++)
            if ((*jvmti)->GetClassStatus(jvmti, classes[i], &status) == JVMTI_ERROR_NONE
                && (status & JVMTI_CLASS_STATUS_PREPARED))
                class_prepare(jvmti, env, thread, classes[i]);
        (*jvmti)->Deallocate(jvmti, (unsigned char *)classes);
    }
    (*env)->PopLocalFrame(env, NULL); /* deletes them all */
}

static void JNICALL vm_death(jvmtiEnv *jvmti, JNIEnv *env)
{
    const Hit *h, *hottest;
    JavaVM *vm;

    (*jvmti)->RawMonitorEnter(jvmti, timer);
    done = 1; /* the sampler ends; callbacks may still run on other threads */
    for (hottest = h = hits; h != NULL; h = h->next)
        hottest = h->count > hottest->count ? h : hottest;
    if (hottest != NULL) {
        printf("most samples:\n");
        print_frame(env, hottest->method, -1);
    }
    (*jvmti)->RawMonitorExit(jvmti, timer);
    report_unloaded();
    if ((*env)->GetJavaVM(env, &vm) == JNI_OK)
        count_instances(vm, env);
    printf("%s\n", collections > 0 ? "collections were seen" : "no collection");
    fflush(stdout);
}

/* ---- Set-up ---- */

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    static const jvmtiEvent events[] = {
        JVMTI_EVENT_VM_INIT, JVMTI_EVENT_VM_DEATH, JVMTI_EVENT_CLASS_PREPARE, JVMTI_EVENT_OBJECT_FREE,
        JVMTI_EVENT_THREAD_START, JVMTI_EVENT_THREAD_END, JVMTI_EVENT_MONITOR_CONTENDED_ENTER,
        JVMTI_EVENT_MONITOR_CONTENDED_ENTERED, JVMTI_EVENT_MONITOR_WAIT, JVMTI_EVENT_GARBAGE_COLLECTION_START,
    };
    static jvmtiEventCallbacks callbacks; /* zero: no callback */
    jvmtiCapabilities wanted = { 0 };
    size_t i;

    if ((*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_11) != JNI_OK)
        return JNI_ERR;
    wanted.can_tag_objects = 1;
    wanted.can_get_line_numbers = 1;
    wanted.can_get_thread_cpu_time = 1;
    wanted.can_generate_object_free_events = 1;
    wanted.can_generate_monitor_events = 1;
    wanted.can_generate_garbage_collection_events = 1;
    callbacks.VMInit = vm_init;
    callbacks.VMDeath = vm_death;
    callbacks.ClassPrepare = class_prepare;
    callbacks.ObjectFree = object_free;
    callbacks.ThreadStart = thread_start;
    callbacks.ThreadEnd = thread_end;
    callbacks.MonitorContendedEnter = contended_enter;
    callbacks.MonitorContendedEntered = contended_entered;
    callbacks.MonitorWait = wait_begins;
    callbacks.GarbageCollectionStart = gc_start;
    if (failed((*jvmti)->AddCapabilities(jvmti, &wanted), "AddCapabilities")
        || failed((*jvmti)->CreateRawMonitor(jvmti, "lock", &lock), "CreateRawMonitor")
        || failed((*jvmti)->CreateRawMonitor(jvmti, "timer", &timer), "CreateRawMonitor")
        || failed((*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof callbacks), "SetEventCallbacks"))
        return JNI_ERR;
    for (i = 0; i < sizeof events / sizeof *events; i++)
        if (failed((*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, events[i], NULL), "an event"))
            return JNI_ERR;
    return JNI_OK;
}
