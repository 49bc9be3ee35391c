/*
 * jvmpi.h - the Java Virtual Machine Profiler Interface, versions 1 to 1.2.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A profiler agent is a C library that exports JVM_OnLoad. It asks the JavaVM for the
 * interface, stores its event handler in it and enables the events it wants:
 *
 *     static JVMPI_Interface *jvmpi;
 *
 *     static void notify(JVMPI_Event *event) { ... }
 *
 *     JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
 *     {
 *         if ((*vm)->GetEnv(vm, (void **)&jvmpi, JVMPI_VERSION_1) != JNI_OK)
 *             return JNI_ERR;
 *         jvmpi->NotifyEvent = notify;
 *         jvmpi->EnableEvent(JVMPI_EVENT_CLASS_LOAD, NULL);
 *         return JNI_OK;
 *     }
 *
 * This describes the interface as its specification does, the last one that of J2SE 5. What is
 * marked "libjvmpi:" is not in there: it is what the library of this name does, where the
 * specification leaves it open or it differs.
 *
 * Modes. What an agent may do depends on the mode a handler or a thread is in; each event
 * and each function below names its modes. (libjvmpi: the JVM goes on collecting garbage in
 * GC-off mode, but no ID dies or changes; in stopped mode, the other threads may go on, but send
 * no events. An agent that keeps the rules sees no difference.)
 *
 *     MT       multithreaded, GC enabled: everything is allowed.
 *     GC-off   multithreaded, GC disabled: in events that carry a jobjectID, and between
 *              DisableGC and EnableGC. IDs stay valid and do not change. Locks only with a
 *              consistent order; no RunGC, no CreateSystemThread, no Java allocation.
 *     stopped  thread suspended: from the end of GC_START to GC_FINISH, and while the agent
 *              has threads suspended. No malloc, no stdio, no lock that another thread may
 *              hold.
 *
 * Memory. An event, and all it points to, belongs to the VM and is valid until NotifyEvent
 * returns; copy what must live longer. Strings are NUL-terminated modified UTF-8. (libjvmpi: none
 * is NULL; what is not known is "".)
 *
 * Identity. A thread is known by its JNIEnv *, a class, thread or other object by its
 * jobjectID, a method by its jmethodID, a reference by its jobject, an arena by its number.
 * Each has an event that defines it and one that undefines it:
 *
 *     JNIEnv *    THREAD_START         THREAD_END
 *     jobjectID   OBJECT_ALLOC         OBJECT_FREE, OBJECT_MOVE, ARENA_DELETE
 *     class       CLASS_LOAD           CLASS_UNLOAD, OBJECT_MOVE
 *     jmethodID   CLASS_LOAD           CLASS_UNLOAD
 *     jobject     JNI_GLOBALREF_ALLOC  JNI_GLOBALREF_FREE (and the weak pair)
 *     arena       ARENA_NEW            ARENA_DELETE
 *
 * An agent that enables the defining event in JVM_OnLoad sees it before the ID is used
 * elsewhere. RequestEvent asks for the definition of an ID met without one.
 */
#ifndef JVMPI_H
#define JVMPI_H

#include <jni.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Versions: the third argument of GetEnv -------------------------------------------- */

#define JVMPI_VERSION_1   0x10000001 /* JDK 1.2 */
#define JVMPI_VERSION_1_1 0x10000002 /* adds ID conversion and INSTRUCTION_START */
#define JVMPI_VERSION_1_2 0x10000003 /* adds the thread list functions */

/* libjvmpi, not in the specification: GetEnv returns a JVMPI_CpuSampling. */
#define JVMPI_CPU_SAMPLING_1 0x10000101

/* ---- Results of EnableEvent, DisableEvent and RequestEvent ------------------------------ */

#define JVMPI_SUCCESS       0
#define JVMPI_NOT_AVAILABLE 1    /* this VM does not have the event */
#define JVMPI_FAIL          (-1) /* it has, but could not do what was asked */

/* ---- Event types ------------------------------------------------------------------------
 *
 * To the right: the arm of JVMPI_Event.u that is filled ("-" for none), and the mode the
 * event is sent in. libjvmpi: where two are given, the latter is that in which this library
 * sends it, and allows less.
 */

#define JVMPI_EVENT_METHOD_ENTRY                  1  /* method; MT */
#define JVMPI_EVENT_METHOD_ENTRY2                 2  /* method_entry2; GC-off */
#define JVMPI_EVENT_METHOD_EXIT                   3  /* method; MT; by return or exception */
#define JVMPI_EVENT_OBJECT_ALLOC                  4  /* obj_alloc; GC-off */
#define JVMPI_EVENT_OBJECT_FREE                   5  /* obj_free; stopped */
#define JVMPI_EVENT_OBJECT_MOVE                   6  /* obj_move; stopped */
#define JVMPI_EVENT_COMPILED_METHOD_LOAD          7  /* compiled_method_load; MT */
#define JVMPI_EVENT_COMPILED_METHOD_UNLOAD        8  /* compiled_method_unload; MT */
#define JVMPI_EVENT_INSTRUCTION_START             9  /* instruction; MT; since 1.1 */
#define JVMPI_EVENT_THREAD_START                  33 /* thread_start; GC-off */
#define JVMPI_EVENT_THREAD_END                    34 /* -; MT; env_id is the thread */
#define JVMPI_EVENT_CLASS_LOAD_HOOK               35 /* class_load_hook; MT */
#define JVMPI_EVENT_HEAP_DUMP                     37 /* heap_dump; GC-off; only requested */
#define JVMPI_EVENT_JNI_GLOBALREF_ALLOC           38 /* jni_globalref_alloc; GC-off */
#define JVMPI_EVENT_JNI_GLOBALREF_FREE            39 /* jni_globalref_free; MT */
#define JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC      40 /* jni_globalref_alloc; GC-off */
#define JVMPI_EVENT_JNI_WEAK_GLOBALREF_FREE       41 /* jni_globalref_free; MT */
#define JVMPI_EVENT_CLASS_LOAD                    42 /* class_load; GC-off */
#define JVMPI_EVENT_CLASS_UNLOAD                  43 /* class_unload; GC-off, stopped */
#define JVMPI_EVENT_DATA_DUMP_REQUEST             44 /* -; MT; the user asks for a dump */
#define JVMPI_EVENT_DATA_RESET_REQUEST            45 /* -; MT; the user asks for a reset */
#define JVMPI_EVENT_JVM_INIT_DONE                 46 /* -; MT; threads may now be created */
#define JVMPI_EVENT_JVM_SHUT_DOWN                 47 /* -; MT; the last event */
#define JVMPI_EVENT_ARENA_NEW                     48 /* new_arena; MT, stopped */
#define JVMPI_EVENT_ARENA_DELETE                  49 /* delete_arena; stopped */
#define JVMPI_EVENT_OBJECT_DUMP                   50 /* object_dump; GC-off; only requested */
#define JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER   51 /* raw_monitor; MT */
#define JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED 52 /* raw_monitor; MT */
#define JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT    53 /* raw_monitor; MT */
#define JVMPI_EVENT_MONITOR_CONTENDED_ENTER       54 /* monitor; GC-off */
#define JVMPI_EVENT_MONITOR_CONTENDED_ENTERED     55 /* monitor; GC-off */
#define JVMPI_EVENT_MONITOR_CONTENDED_EXIT        56 /* monitor; GC-off */
#define JVMPI_EVENT_MONITOR_WAIT                  57 /* monitor_wait; GC-off */
#define JVMPI_EVENT_MONITOR_WAITED                58 /* monitor_wait; GC-off */
#define JVMPI_EVENT_MONITOR_DUMP                  59 /* monitor_dump; GC-off; only requested */
#define JVMPI_EVENT_GC_START                      60 /* -; MT; the place to take locks */
#define JVMPI_EVENT_GC_FINISH                     61 /* gc_info; MT; the place to drop them */

#define JVMPI_MAX_EVENT_TYPE_VAL 61

/* Set in event_type, beside the type, when the event answers RequestEvent. */
#define JVMPI_REQUESTED_EVENT 0x10000000

/* libjvmpi: older names of some of them, which agents still use. */
#define JVMPI_EVENT_OBJ_ALLOC              JVMPI_EVENT_OBJECT_ALLOC
#define JVMPI_EVENT_OBJ_FREE               JVMPI_EVENT_OBJECT_FREE
#define JVMPI_EVENT_OBJ_MOVE               JVMPI_EVENT_OBJECT_MOVE
#define JVMPI_EVENT_LOAD_COMPILED_METHOD   JVMPI_EVENT_COMPILED_METHOD_LOAD
#define JVMPI_EVENT_UNLOAD_COMPILED_METHOD JVMPI_EVENT_COMPILED_METHOD_UNLOAD
#define JVMPI_EVENT_DUMP_DATA_REQUEST      JVMPI_EVENT_DATA_DUMP_REQUEST
#define JVMPI_EVENT_RESET_DATA_REQUEST     JVMPI_EVENT_DATA_RESET_REQUEST
#define JVMPI_EVENT_NEW_ARENA              JVMPI_EVENT_ARENA_NEW
#define JVMPI_EVENT_DELETE_ARENA           JVMPI_EVENT_ARENA_DELETE

/* ---- Threads ---------------------------------------------------------------------------- */

/* GetThreadStatus: one of the first three, and any of the bits. */
#define JVMPI_THREAD_RUNNABLE     1
#define JVMPI_THREAD_MONITOR_WAIT 2 /* blocked on entry to a monitor */
#define JVMPI_THREAD_CONDVAR_WAIT 3 /* waiting to be notified */
#define JVMPI_THREAD_SUSPENDED    0x8000
#define JVMPI_THREAD_INTERRUPTED  0x4000

/* CreateSystemThread: priorities. */
#define JVMPI_MINIMUM_PRIORITY 1
#define JVMPI_NORMAL_PRIORITY  5
#define JVMPI_MAXIMUM_PRIORITY 10

/* ---- Types of objects and values: obj_alloc.is_array, "ty" in dumps --------------------- */

#define JVMPI_NORMAL_OBJECT 0 /* not an array */
#define JVMPI_CLASS         2 /* array of references; in dumps also a reference */
#define JVMPI_BOOLEAN       4
#define JVMPI_CHAR          5
#define JVMPI_FLOAT         6
#define JVMPI_DOUBLE        7
#define JVMPI_BYTE          8
#define JVMPI_SHORT         9
#define JVMPI_INT           10
#define JVMPI_LONG          11

/* ---- Dumps ------------------------------------------------------------------------------
 *
 * A dump is a sequence of records without padding. u1, u2, u4 and u8 are unsigned integers
 * of that many bytes (libjvmpi: most significant byte first, as JVMs wrote them); "id" is a pointer
 * in the machine's own size and byte order; "value" is as wide as its type: boolean and byte u1, char and short
 * u2, int and float u4, long and double u8, a reference id.
 */

/* JVMPI_HeapDumpArg.heap_dump_level. */
#define JVMPI_DUMP_LEVEL_0 0 /* per live object: u1 ty, id object; no other records */
#define JVMPI_DUMP_LEVEL_1 1 /* all records, without primitive fields and elements */
#define JVMPI_DUMP_LEVEL_2 2 /* all records; also what a NULL argument means */

/*
 * Root records: u1 tag, then as shown. env is the thread's JNIEnv *; frame is the index (u4)
 * into that thread's trace in heap_dump.traces, 0 innermost, 0xffffffff for none.
 */
#define JVMPI_GC_ROOT_UNKNOWN      0xff /* id object */
#define JVMPI_GC_ROOT_JNI_GLOBAL   0x01 /* id object, id jobject */
#define JVMPI_GC_ROOT_JNI_LOCAL    0x02 /* id object, id env, u4 frame */
#define JVMPI_GC_ROOT_JAVA_FRAME   0x03 /* id object, id env, u4 frame */
#define JVMPI_GC_ROOT_NATIVE_STACK 0x04 /* id object, id env */
#define JVMPI_GC_ROOT_STICKY_CLASS 0x05 /* id class */
#define JVMPI_GC_ROOT_THREAD_BLOCK 0x06 /* id thread object, id env */
#define JVMPI_GC_ROOT_MONITOR_USED 0x07 /* id object */
#define JVMPI_GC_ROOT_THREAD_OBJ   0x08 /* libjvmpi: of profile files; not in a dump */

/*
 * Object records: u1 tag, then as shown. Static fields are in the order of
 * class_load.statics, instance fields in that of class_load.instances, those of the class
 * first, then those of its superclass, and so on. libjvmpi: constant pools are empty; the class
 * name is NULL.
 */

/*
 * id class, id super, id class loader, id signers, id protection domain, id class name,
 * id reserved, u4 instance size in bytes, one id per direct interface (no count: see
 * class_load.num_interfaces), u2 count of { u2 constant pool index, u1 ty, value }, and
 * the static fields' values.
 */
#define JVMPI_GC_CLASS_DUMP      0x20
#define JVMPI_GC_INSTANCE_DUMP   0x21 /* id object, id class, u4 bytes that follow, values */
#define JVMPI_GC_OBJ_ARRAY_DUMP  0x22 /* id array, u4 count, id element class, ids */
#define JVMPI_GC_PRIM_ARRAY_DUMP 0x23 /* id array, u4 count, u1 ty, values */

/*
 * Records of a monitor dump: u1 tag, then as shown. Here "threads" is a u4 count followed by
 * that many JNIEnv * (id); the first are waiting to enter, the second to be notified. owner
 * is a JNIEnv *, or NULL.
 */
#define JVMPI_MONITOR_JAVA 0x01 /* id object, id owner, u4 entry count, threads, threads */
#define JVMPI_MONITOR_RAW  0x02 /* id name (char *), id monitor, then as above from owner */

/* ---- Types ------------------------------------------------------------------------------ */

typedef struct _jobjectID *jobjectID;
typedef struct _JVMPI_RawMonitor *JVMPI_RawMonitor;

typedef struct JVMPI_CallFrame {
    jint lineno; /* source line; -1 unknown, -2 compiled method, -3 native method */
    jmethodID method_id;
} JVMPI_CallFrame;

typedef struct JVMPI_CallTrace {
    JNIEnv *env_id; /* whose stack */
    jint num_frames;
    JVMPI_CallFrame *frames; /* the callee before its caller */
} JVMPI_CallTrace;

typedef struct JVMPI_Method {
    char *method_name;
    char *method_signature; /* descriptor, as "(I)Ljava/lang/String;" */
    jint start_lineno;      /* first and last source line; -1 if there is none */
    jint end_lineno;
    jmethodID method_id;
} JVMPI_Method;

typedef struct JVMPI_Field {
    char *field_name;
    char *field_signature; /* descriptor, as "[I" */
} JVMPI_Field;

typedef struct JVMPI_Lineno {
    jint offset; /* bytes from the start of the compiled code */
    jint lineno; /* source line */
} JVMPI_Lineno;

/* The argument of RequestEvent(JVMPI_EVENT_HEAP_DUMP). */
typedef struct JVMPI_HeapDumpArg {
    jint heap_dump_level; /* JVMPI_DUMP_LEVEL_... */
} JVMPI_HeapDumpArg;

/* ---- Events ----------------------------------------------------------------------------- */

typedef struct JVMPI_Event {
    jint event_type; /* JVMPI_EVENT_..., or-ed with JVMPI_REQUESTED_EVENT if requested */
    JNIEnv *env_id;  /* the thread it happened on; in GC events, some live thread */

    union {
        /* CLASS_LOAD: none of the class's code has run (libjvmpi: it is linked) */
        struct {
            char *class_name;  /* libjvmpi: "java.lang.String", "[I"; see its setting names */
            char *source_name; /* file name without directories */
            jint num_interfaces;
            jint num_methods;
            JVMPI_Method *methods; /* those it declares, constructors and <clinit> included */
            jint num_static_fields;
            JVMPI_Field *statics; /* those it declares, in the order of dumps */
            jint num_instance_fields;
            JVMPI_Field *instances; /* likewise; none that are inherited */
            jobjectID class_id;
        } class_load;

        /* CLASS_UNLOAD */
        struct {
            jobjectID class_id;
        } class_unload;

        /*
         * CLASS_LOAD_HOOK: a class file about to be parsed. The handler always sets both
         * new_ fields: to class_data and class_data_len to leave it as it is, or to a class
         * file of its own in memory from malloc_f, which the VM then owns and frees. (libjvmpi:
         * they are set to the former already.)
         */
        struct {
            unsigned char *class_data;
            jint class_data_len; /* bytes */
            unsigned char *new_class_data;
            jint new_class_data_len; /* bytes */
            void *(*malloc_f)(unsigned int bytes);
        } class_load_hook;

        /* OBJECT_ALLOC */
        struct {
            jint arena_id;
            jobjectID class_id; /* of an array, its element class; libjvmpi: or NULL */
            jint is_array;      /* JVMPI_NORMAL_OBJECT, JVMPI_CLASS or JVMPI_BOOLEAN ... */
            jint size;          /* bytes on the heap, header included */
            jobjectID obj_id;
        } obj_alloc;

        /* OBJECT_FREE */
        struct {
            jobjectID obj_id;
        } obj_free;

        /* OBJECT_MOVE: obj_id is now new_obj_id */
        struct {
            jint arena_id;
            jobjectID obj_id;
            jint new_arena_id;
            jobjectID new_obj_id;
        } obj_move;

        /* ARENA_NEW */
        struct {
            jint arena_id;
            char *arena_name;
        } new_arena;

        /* ARENA_DELETE: all objects still in it are freed */
        struct {
            jint arena_id;
        } delete_arena;

        /* THREAD_START: thread_env_id is the thread (libjvmpi: env_id is who asked or tells) */
        struct {
            char *thread_name;
            char *group_name;
            char *parent_name; /* of the parent of the thread's group */
            jobjectID thread_id;
            JNIEnv *thread_env_id;
        } thread_start;

        /* HEAP_DUMP */
        struct {
            int dump_level; /* JVMPI_DUMP_LEVEL_... */
            char *begin;    /* the records lie in [begin, end) */
            char *end;
            jint num_traces; /* stacks that the root records name; 0 at level 0 */
            JVMPI_CallTrace *traces;
        } heap_dump;

        /* JNI_GLOBALREF_ALLOC, JNI_WEAK_GLOBALREF_ALLOC */
        struct {
            jobjectID obj_id;
            jobject ref_id;
        } jni_globalref_alloc;

        /* JNI_GLOBALREF_FREE, JNI_WEAK_GLOBALREF_FREE */
        struct {
            jobject ref_id;
        } jni_globalref_free;

        /* METHOD_ENTRY, METHOD_EXIT */
        struct {
            jmethodID method_id;
        } method;

        /* METHOD_ENTRY2 */
        struct {
            jmethodID method_id;
            jobjectID obj_id; /* the receiver; NULL in a static method */
        } method_entry2;

        /* COMPILED_METHOD_LOAD */
        struct {
            jmethodID method_id;
            void *code_addr;
            jint code_size;             /* bytes */
            jint lineno_table_size;     /* entries; libjvmpi: sorted by offset */
            JVMPI_Lineno *lineno_table; /* libjvmpi: NULL if there are none */
        } compiled_method_load;

        /* COMPILED_METHOD_UNLOAD */
        struct {
            jmethodID method_id;
            void *code_addr; /* libjvmpi: as in COMPILED_METHOD_LOAD, which has it here too */
        } compiled_method_unload;

        /* INSTRUCTION_START: u is filled for the instructions it names (libjvmpi: else zero) */
        struct {
            jmethodID method_id;
            jint offset; /* bytes from the start of the method's bytecode */
            union {
                struct {
                    jboolean is_true; /* whether the branch is taken */
                } if_info;
                struct {
                    jint key;
                    jint low;
                    jint hi;
                } tableswitch_info;
                /*
                 * The specification of J2SE 5 has jboolean is_default in the place of
                 * pairs_total. Headers that agents were built with have pairs_total.
                 */
                struct {
                    jint chosen_pair_index; /* 0 for the first pair */
                    jint pairs_total; /* chosen_pair_index of the default: how many pairs there are */
                } lookupswitch_info;
            } u;
        } instruction;

        /* MONITOR_DUMP */
        struct {
            char *begin; /* the records lie in [begin, end) */
            char *end;
            jint num_traces; /* entries of the next two: all live threads */
            JVMPI_CallTrace *traces;
            jint *threads_status; /* JVMPI_THREAD_... of the thread of traces[i] */
        } monitor_dump;

        /*
         * RAW_MONITOR_CONTENDED_ENTER, _ENTERED and _EXIT; not sent for monitors whose name
         * begins with '_'
         */
        struct {
            char *name;
            JVMPI_RawMonitor id;
        } raw_monitor;

        /* MONITOR_CONTENDED_ENTER, _ENTERED and _EXIT */
        struct {
            jobjectID object;
        } monitor;

        /* MONITOR_WAIT, MONITOR_WAITED */
        struct {
            jobjectID object; /* NULL in Thread.sleep */
            jlong timeout;    /* ms: asked for (0 for ever); when WAITED, spent waiting */
        } monitor_wait;

        /* GC_FINISH: the heap after the collection */
        struct {
            jlong used_objects;
            jlong used_object_space;  /* bytes */
            jlong total_object_space; /* bytes */
        } gc_info;

        /* OBJECT_DUMP: one record of level 2, JVMPI_GC_CLASS_DUMP ... _PRIM_ARRAY_DUMP */
        struct {
            jint data_len; /* bytes */
            char *data;
        } object_dump;
    } u;
} JVMPI_Event;

/* ---- Functions --------------------------------------------------------------------------
 *
 * The table GetEnv returns. It belongs to the VM and lives as long as it does. Unless a
 * comment says otherwise, a function may be called in JVM_OnLoad and in MT and GC-off mode,
 * from any thread the VM knows. RequestEvent, RunGC and CreateSystemThread can run the caller's
 * own event handler before they return. libjvmpi: where a function returns no result, bad
 * arguments (an unknown or dead thread, NULL) do nothing; the modes are not enforced.
 */
typedef struct JVMPI_Interface {
    jint version; /* JVMPI_VERSION_... (libjvmpi: the highest there is, whatever was asked for) */

    /*
     * The agent's handler, to be set before JVM_OnLoad returns. Several threads may be in it
     * at the same time. It must return without a pending Java exception.
     */
    void (*NotifyEvent)(JVMPI_Event *event);

    /*
     * Switch an event on or off for all threads; all are off at first. Also when stopped.
     * arg is used for OBJECT_ALLOC only (libjvmpi): an interval of 1,024 to 2^30 bytes, cast to a
     * pointer, for samples. Other values are like NULL. The events that are only requested are JVMPI_NOT_AVAILABLE. libjvmpi: most
     * can be enabled only from threads the VM knows, once it runs.
     */
    jint (*EnableEvent)(jint event_type, void *arg);
    jint (*DisableEvent)(jint event_type, void *arg);

    /*
     * Send one event to the calling thread before returning, enabled or not. Not in
     * JVM_OnLoad. arg says what is asked for:
     *     CLASS_LOAD     jobjectID of the class      (GC-off)
     *     THREAD_START   jobjectID of the thread     (GC-off)
     *     OBJECT_ALLOC   jobjectID                   (GC-off)
     *     OBJECT_DUMP    jobjectID                   (GC-off)
     *     HEAP_DUMP      JVMPI_HeapDumpArg * or NULL (MT, GC-off)
     *     MONITOR_DUMP   NULL                        (MT, GC-off)
     */
    jint (*RequestEvent)(jint event_type, void *arg);

    /*
     * The innermost frames, at most depth, of the thread trace->env_id, written to the
     * caller's array trace->frames; trace->num_frames tells how many. The thread is the
     * caller or should be suspended. Also when stopped. libjvmpi: not in JVM_OnLoad, 0 frames.
     */
    void (*GetCallTrace)(JVMPI_CallTrace *trace, jint depth);

    /* End the process with this exit status; sends no further event and does not return. */
    void (*ProfilerExit)(jint exit_code);

    /*
     * Recursive mutexes with a condition. Of these only Exit may be called when stopped. No
     * RAW_MONITOR_ event tells of a monitor whose name begins with '_'. Wait takes milliseconds,
     * 0 for ever. libjvmpi: Create copies the name and does not change it, so a literal may be
     * passed. Exit, Wait and NotifyAll of a thread that is not the owner do nothing. Any thread may
     * call them.
     */
    JVMPI_RawMonitor (*RawMonitorCreate)(char *lock_name);
    void (*RawMonitorEnter)(JVMPI_RawMonitor lock_id);
    void (*RawMonitorExit)(JVMPI_RawMonitor lock_id);
    void (*RawMonitorWait)(JVMPI_RawMonitor lock_id, jlong ms);
    void (*RawMonitorNotifyAll)(JVMPI_RawMonitor lock_id);
    void (*RawMonitorDestroy)(JVMPI_RawMonitor lock_id);

    /* CPU time of the calling thread, in nanoseconds. Also when stopped. */
    jlong (*GetCurrentThreadCpuTime)(void);

    /*
     * Suspend and resume a thread. Only in GC-off mode, and GC must stay disabled until every
     * suspended thread is resumed; meanwhile the agent is in stopped mode.
     */
    void (*SuspendThread)(JNIEnv *env);
    void (*ResumeThread)(JNIEnv *env);

    /* JVMPI_THREAD_...; 0 if there is no such thread. Not in JVM_OnLoad; also when stopped. */
    jint (*GetThreadStatus)(JNIEnv *env);

    /*
     * Of a thread that was suspended, resumed and is suspended again: whether it used CPU
     * time in between. Only when stopped.
     */
    jboolean (*ThreadHasRun)(JNIEnv *env);

    /*
     * Run f in a new daemon Java thread. Only in MT mode, from JVM_INIT_DONE on. Returns JNI_OK or
     * JNI_ERR. libjvmpi: f gets NULL; name is copied, and not changed.
     */
    jint (*CreateSystemThread)(char *name, jint priority, void (*f)(void *arg));

    /*
     * One pointer per thread, NULL at first; any thread may ask for any thread's. Gone after
     * THREAD_END. The pointer is the agent's own (libjvmpi: each agent has its own). Also when
     * stopped.
     */
    void (*SetThreadLocalStorage)(JNIEnv *env, void *ptr);
    void *(*GetThreadLocalStorage)(JNIEnv *env);

    /*
     * Calls nest and are counted for the whole VM, not per thread. No object dies or moves while
     * GC is disabled. libjvmpi: no ID does. The JVM may collect all the same; that is told after the
     * last EnableGC.
     */
    void (*DisableGC)(void);
    void (*EnableGC)(void);

    /* A full collection, with its events, before it returns. Only in MT mode. */
    void (*RunGC)(void);

    /* Only in GC-off mode. NULL if there is no such thread or method. */
    jobjectID (*GetThreadObject)(JNIEnv *env);
    jobjectID (*GetMethodClass)(jmethodID mid);

    /*
     * Since version 1.1. Only in GC-off mode. libjvmpi: the jobject is a new local reference in the
     * calling thread; NULL gives NULL.
     */
    jobject (*jobjectID2jobject)(jobjectID jid);
    jobjectID (*jobject2jobjectID)(jobject jobj);

    /*
     * Since version 1.2. As SuspendThread and ResumeThread, for reqCount threads at a time.
     * results[i] becomes 0 if env_list[i] was suspended or resumed, else nonzero (libjvmpi: 1).
     */
    void (*SuspendThreadList)(jint reqCount, JNIEnv **env_list, jint *results);
    void (*ResumeThreadList)(jint reqCount, JNIEnv **env_list, jint *results);
} JVMPI_Interface;

/* ---- CPU samples: an extension of libjvmpi ----------------------------------------------
 *
 * A timer runs on the CPU clock of each thread of the process. When it expires, the thread takes
 * its own stack, and the sample waits until the agent asks for it. So a sample stands for one
 * interval of CPU time, where it was used, and threads that wait cost nothing. GetEnv returns the
 * functions for JVMPI_CPU_SAMPLING_1, to an agent that has got a JVMPI_Interface.
 */

/* The kind of a sample. Only JAVA has frames. */
#define JVMPI_CPU_SAMPLE_JAVA     0 /* a thread with Java frames, also in native or VM code */
#define JVMPI_CPU_SAMPLE_UNKNOWN  1 /* a Java thread whose stack could not be walked */
#define JVMPI_CPU_SAMPLE_ENDED    2 /* a Java thread that ended before it took its samples */
#define JVMPI_CPU_SAMPLE_VM       3 /* another thread, or a Java thread without Java frames */
#define JVMPI_CPU_SAMPLE_GC       4 /* a thread that collects garbage */
#define JVMPI_CPU_SAMPLE_COMPILER 5 /* a JIT compiler thread */
#define JVMPI_CPU_SAMPLE_PROFILER 6 /* a thread of libjvmpi itself */

typedef struct JVMPI_CpuSample {
    JVMPI_CallTrace trace; /* env_id is NULL if the thread is not a Java thread */
    jobjectID thread_id;   /* its object as in THREAD_START, also after its end; NULL if unknown */
    jint kind;             /* JVMPI_CPU_SAMPLE_... */
    jint count;            /* the intervals of CPU time that it stands for, at least 1 */
    jboolean truncated;    /* true if the stack has more frames than trace.frames */
} JVMPI_CpuSample;

typedef struct JVMPI_CpuSampling {
    /*
     * Starts the timers: a sample for each interval of CPU time, in nanoseconds, of at most depth
     * frames (1024 if depth is larger). From JVM_INIT_DONE on, in MT mode. Returns JVMPI_SUCCESS, JVMPI_FAIL,
     * or JVMPI_NOT_AVAILABLE while another agent samples.
     */
    jint (*StartCpuSamples)(jlong interval, jint depth);

    /* Ends the timers. Samples that wait are dropped. */
    void (*StopCpuSamples)(void);

    /*
     * Takes the next sample: returns 0 after it has filled in *sample and the caller's array
     * sample->trace.frames, which has space for depth frames. If no sample waits, returns the number
     * of milliseconds after which the agent should ask again. Only in GC-off mode, by one thread at a
     * time. The class of each frame is defined before.
     */
    jint (*NextCpuSample)(JVMPI_CpuSample *sample, jint depth);
} JVMPI_CpuSampling;

/* ---- Exported by an agent --------------------------------------------------------------- */

/*
 * options is what follows the first ':' of the agent's option on the command line, or NULL
 * (libjvmpi: if there is no ':'); reserved is NULL. Any result but JNI_OK ends the VM's start.
 */
JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved);

/* libjvmpi: not in the specification. Called when the VM ends. An agent need not have it. */
JNIEXPORT void JNICALL JVM_OnUnload(JavaVM *vm);

/* ---- Exported by libjvmpi --------------------------------------------------------------- */

/*
 * The interface for a program that embeds the VM, whether or not the VM was started with libjvmpi.
 * Returns JNI_OK and sets *interface_ptr, or returns JNI_EVERSION or another JNI error and sets
 * it to NULL. The program counts as an agent of its own. (A native library of the program that asks
 * GetEnv for the interface gets that of the agent, if there is exactly one.)
 */
JNIEXPORT jint JNICALL jvmpi_get_interface(JavaVM *vm, jint version,
                                           JVMPI_Interface **interface_ptr);

#ifdef __cplusplus
}
#endif

#endif
