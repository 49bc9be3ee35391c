/*
 * jvmti_rules.c - an agent of JVMTI that finds out which capability each function and event needs, and in which phases
 * functions work. The tables of docs/howto/port-to-jvmti.md say so.
 */
#include "agent.h"

#include <jvmti.h>

/* One environment without capabilities, one with all that are tried, and one for the callbacks. */
static jvmtiEnv *bare, *full, *own;

#define EVENT(env, event) (*env)->SetEventNotificationMode(env, JVMTI_ENABLE, JVMTI_EVENT_##event, NULL)

/* Reports the results of a call in both environments. */
#define CALL(env, function, ...) (*env)->function(env, ##__VA_ARGS__)
#define NEEDS(needed, function, ...) \
    report("needs name=" #function " capability=" #needed " without=%d with=%d", \
           (int)CALL(bare, function, ##__VA_ARGS__), (int)CALL(full, function, ##__VA_ARGS__))
#define NEEDS_NONE(function, ...) \
    report("free name=" #function " without=%d", (int)CALL(bare, function, ##__VA_ARGS__))
#define EVENT_NEEDS(needed, name, event) \
    report("needs name=" #name " capability=" #needed " without=%d with=%d", (int)EVENT(bare, event), \
           (int)EVENT(full, event))
#define EVENT_NEEDS_NONE(name, event) report("free name=" #name " without=%d", (int)EVENT(bare, event))

static void try_events(void)
{
    EVENT_NEEDS(can_generate_object_free_events, ObjectFree, OBJECT_FREE);
    EVENT_NEEDS(can_generate_compiled_method_load_events, CompiledMethodLoad, COMPILED_METHOD_LOAD);
    EVENT_NEEDS(can_generate_compiled_method_load_events, CompiledMethodUnload, COMPILED_METHOD_UNLOAD);
    EVENT_NEEDS(can_generate_method_entry_events, MethodEntry, METHOD_ENTRY);
    EVENT_NEEDS(can_generate_method_exit_events, MethodExit, METHOD_EXIT);
    EVENT_NEEDS(can_generate_single_step_events, SingleStep, SINGLE_STEP);
    EVENT_NEEDS(can_generate_sampled_object_alloc_events, SampledObjectAlloc, SAMPLED_OBJECT_ALLOC);
    EVENT_NEEDS(can_generate_garbage_collection_events, GarbageCollectionStart, GARBAGE_COLLECTION_START);
    EVENT_NEEDS(can_generate_garbage_collection_events, GarbageCollectionFinish, GARBAGE_COLLECTION_FINISH);
    EVENT_NEEDS(can_generate_monitor_events, MonitorContendedEnter, MONITOR_CONTENDED_ENTER);
    EVENT_NEEDS(can_generate_monitor_events, MonitorContendedEntered, MONITOR_CONTENDED_ENTERED);
    EVENT_NEEDS(can_generate_monitor_events, MonitorWait, MONITOR_WAIT);
    EVENT_NEEDS(can_generate_monitor_events, MonitorWaited, MONITOR_WAITED);
    EVENT_NEEDS_NONE(ClassFileLoadHook, CLASS_FILE_LOAD_HOOK);
    EVENT_NEEDS_NONE(ClassPrepare, CLASS_PREPARE);
    EVENT_NEEDS_NONE(ThreadStart, THREAD_START);
    EVENT_NEEDS_NONE(ThreadEnd, THREAD_END);
    EVENT_NEEDS_NONE(VMInit, VM_INIT);
    EVENT_NEEDS_NONE(VMDeath, VM_DEATH);
    EVENT_NEEDS_NONE(DataDumpRequest, DATA_DUMP_REQUEST);
}

static void try_functions(JNIEnv *env)
{
    jvmtiHeapCallbacks callbacks = { 0 };
    jvmtiFrameInfo frame;
    jmethodID method;
    jvmtiMonitorStackDepthInfo *monitors;
    jobject object = (*env)->FindClass(env, "java/lang/Object");
    jfieldID *fields;
    jthread *threads;
    jlong number;
    jint count;

    NEEDS(can_get_line_numbers, GetLineNumberTable, NULL, &count, NULL);
    NEEDS(can_get_source_file_name, GetSourceFileName, NULL, NULL);
    NEEDS(can_get_current_thread_cpu_time, GetCurrentThreadCpuTime, &number);
    NEEDS(can_get_thread_cpu_time, GetThreadCpuTime, NULL, &number);
    NEEDS(can_suspend, SuspendThreadList, 0, NULL, NULL);
    NEEDS(can_suspend, ResumeThreadList, 0, NULL, NULL);
    NEEDS(can_tag_objects, GetObjectsWithTags, 0, NULL, &count, NULL, NULL);
    NEEDS(can_tag_objects, GetTag, object, &number);
    NEEDS(can_tag_objects, SetTag, object, 0);
    NEEDS(can_tag_objects, FollowReferences, 0, NULL, NULL, &callbacks, NULL);
    NEEDS(can_retransform_classes, RetransformClasses, 0, NULL);
    NEEDS(can_get_owned_monitor_stack_depth_info, GetOwnedMonitorStackDepthInfo, NULL, &count, &monitors);
    NEEDS(can_get_current_contended_monitor, GetCurrentContendedMonitor, NULL, &object);
    NEEDS(can_access_local_variables, GetLocalInstance, NULL, 0, &object);
    object = (*env)->FindClass(env, "java/lang/Object");
    method = (*env)->GetMethodID(env, object, "hashCode", "()I");
    NEEDS_NONE(GetStackTrace, NULL, 0, 1, &frame, &count);
    NEEDS_NONE(GetThreadState, NULL, &count);
    NEEDS_NONE(GetMethodDeclaringClass, method, &object);
    NEEDS_NONE(GetClassFields, object, &count, &fields);
    NEEDS_NONE(GetAllThreads, &count, &threads);
    NEEDS_NONE(ForceGarbageCollection);
}

/* Reports the result of each function in this phase. */
static void try_phase(const char *place, jobject object)
{
    jvmtiEventCallbacks callbacks = { 0 };
    jvmtiCapabilities wanted = { 0 };
    jvmtiHeapCallbacks heap = { 0 };
    jvmtiFrameInfo frame;
    jrawMonitorID monitor;
    jvmtiEnv *another;
    unsigned char *memory;
    jclass *classes;
    jthread thread, *threads;
    jlong tag;
    jint count;

    wanted.can_get_line_numbers = 1;
#define TRY(function, ...) \
    report("%s name=" #function " result=%d", place, (int)(*full)->function(full, ##__VA_ARGS__))
    report("%s name=GetEnv result=%d", place,
           (int)(*agent_vm)->GetEnv(agent_vm, (void **)&another, JVMTI_VERSION_11));
    TRY(Allocate, 8, &memory);
    TRY(AddCapabilities, &wanted);
    TRY(SetEventCallbacks, &callbacks, sizeof callbacks);
    TRY(SetEventNotificationMode, JVMTI_ENABLE, JVMTI_EVENT_GARBAGE_COLLECTION_START, NULL);
    TRY(SetHeapSamplingInterval, 512 * 1024);
    TRY(CreateRawMonitor, "rules", &monitor);
    TRY(GetCurrentThread, &thread);
    TRY(SetThreadLocalStorage, NULL, NULL);
    TRY(GetTag, object, &tag);
    TRY(GetStackTrace, NULL, 0, 1, &frame, &count);
    TRY(GetAllThreads, &count, &threads);
    TRY(GetLoadedClasses, &count, &classes);
    TRY(RunAgentThread, NULL, NULL, NULL, JVMTI_THREAD_NORM_PRIORITY);
    TRY(IterateThroughHeap, 0, NULL, &heap, NULL);
    TRY(ForceGarbageCollection);
}

static void JNICALL vm_start(jvmtiEnv *jvmti, JNIEnv *env)
{
    try_phase("start", (*env)->FindClass(env, "java/lang/Object"));
}

static void JNICALL vm_init(jvmtiEnv *jvmti, JNIEnv *env, jthread thread)
{
    (*env)->PushLocalFrame(env, 16);
    try_functions(env);
    try_phase("live", thread);
    (*env)->PopLocalFrame(env, NULL);
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    jvmtiEventCallbacks callbacks = { 0 };
    jvmtiCapabilities all = { 0 };

    open_report(options);
    agent_vm = vm;
    (*vm)->GetEnv(vm, (void **)&bare, JVMTI_VERSION_11);
    (*vm)->GetEnv(vm, (void **)&full, JVMTI_VERSION_11);
    (*vm)->GetEnv(vm, (void **)&own, JVMTI_VERSION_11);
    (*full)->GetPotentialCapabilities(full, &all);
    all.can_generate_early_vmstart = 0; /* these two change the phases */
    all.can_generate_early_class_hook_events = 0;
    CHECK("capabilities", (*full)->AddCapabilities(full, &all) == JVMTI_ERROR_NONE);
    callbacks.VMStart = vm_start;
    callbacks.VMInit = vm_init;
    (*own)->SetEventCallbacks(own, &callbacks, sizeof callbacks);
    EVENT(own, VM_START);
    EVENT(own, VM_INIT);
    try_events();
    try_phase("on_load", NULL);
    return JNI_OK;
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    try_phase("jvm_on_load", NULL);
    return JNI_OK;
}

JNIEXPORT void JNICALL Agent_OnUnload(JavaVM *vm)
{
    try_phase("unload", NULL);
}
