//! Versions, results, event types and the codes that occur in events and dumps.

use jni_sys::jint;

/// The interface of JDK 1.2.
pub const JVMPI_VERSION_1: jint = 0x1000_0001;
/// Adds ID conversion and `INSTRUCTION_START`.
pub const JVMPI_VERSION_1_1: jint = 0x1000_0002;
/// Adds the thread list functions.
pub const JVMPI_VERSION_1_2: jint = 0x1000_0003;

// Results of EnableEvent, DisableEvent and RequestEvent.

/// Done.
pub const JVMPI_SUCCESS: jint = 0;
/// This VM does not have the event.
pub const JVMPI_NOT_AVAILABLE: jint = 1;
/// The VM has the event, but could not do what was asked.
pub const JVMPI_FAIL: jint = -1;

// Event types: the arm of JVMPI_Event_u that is filled, and the mode the event is sent in.

/// A method is entered. Arm `method`; MT.
pub const JVMPI_EVENT_METHOD_ENTRY: jint = 1;
/// A method is entered, with its receiver. Arm `method_entry2`; GC-off.
pub const JVMPI_EVENT_METHOD_ENTRY2: jint = 2;
/// A method is left, by return or exception. Arm `method`; MT.
pub const JVMPI_EVENT_METHOD_EXIT: jint = 3;
/// An object was allocated. Arm `obj_alloc`; GC-off.
pub const JVMPI_EVENT_OBJECT_ALLOC: jint = 4;
/// An object was freed. Arm `obj_free`; stopped.
pub const JVMPI_EVENT_OBJECT_FREE: jint = 5;
/// An object has a new ID. Arm `obj_move`; stopped.
pub const JVMPI_EVENT_OBJECT_MOVE: jint = 6;
/// A method was compiled. Arm `compiled_method_load`; MT.
pub const JVMPI_EVENT_COMPILED_METHOD_LOAD: jint = 7;
/// Compiled code goes away. Arm `compiled_method_unload`; MT.
pub const JVMPI_EVENT_COMPILED_METHOD_UNLOAD: jint = 8;
/// A bytecode instruction starts. Arm `instruction`; MT. Since version 1.1.
pub const JVMPI_EVENT_INSTRUCTION_START: jint = 9;
/// A thread starts. Arm `thread_start`; GC-off.
pub const JVMPI_EVENT_THREAD_START: jint = 33;
/// The thread `env_id` ends. No arm; MT.
pub const JVMPI_EVENT_THREAD_END: jint = 34;
/// A class file is about to be parsed. Arm `class_load_hook`; MT.
pub const JVMPI_EVENT_CLASS_LOAD_HOOK: jint = 35;
/// A dump of the heap; only requested. Arm `heap_dump`; GC-off.
pub const JVMPI_EVENT_HEAP_DUMP: jint = 37;
/// A JNI global reference was created. Arm `jni_globalref_alloc`; GC-off.
pub const JVMPI_EVENT_JNI_GLOBALREF_ALLOC: jint = 38;
/// A JNI global reference is deleted. Arm `jni_globalref_free`; MT.
pub const JVMPI_EVENT_JNI_GLOBALREF_FREE: jint = 39;
/// A JNI weak global reference was created. Arm `jni_globalref_alloc`; GC-off.
pub const JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC: jint = 40;
/// A JNI weak global reference is deleted. Arm `jni_globalref_free`; MT.
pub const JVMPI_EVENT_JNI_WEAK_GLOBALREF_FREE: jint = 41;
/// A class was loaded. Arm `class_load`; GC-off.
pub const JVMPI_EVENT_CLASS_LOAD: jint = 42;
/// A class is unloaded. Arm `class_unload`; GC-off.
pub const JVMPI_EVENT_CLASS_UNLOAD: jint = 43;
/// The user asks for a dump. No arm; MT.
pub const JVMPI_EVENT_DATA_DUMP_REQUEST: jint = 44;
/// The user asks for a reset. No arm; MT.
pub const JVMPI_EVENT_DATA_RESET_REQUEST: jint = 45;
/// The VM is ready; threads may now be created. No arm; MT.
pub const JVMPI_EVENT_JVM_INIT_DONE: jint = 46;
/// The VM ends; the last event. No arm; MT.
pub const JVMPI_EVENT_JVM_SHUT_DOWN: jint = 47;
/// An arena was created. Arm `new_arena`; MT.
pub const JVMPI_EVENT_ARENA_NEW: jint = 48;
/// An arena was deleted, with all objects in it. Arm `delete_arena`; stopped.
pub const JVMPI_EVENT_ARENA_DELETE: jint = 49;
/// A dump of one object; only requested. Arm `object_dump`; GC-off.
pub const JVMPI_EVENT_OBJECT_DUMP: jint = 50;
/// A thread has to wait for a raw monitor. Arm `raw_monitor`; MT.
pub const JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER: jint = 51;
/// A thread got the raw monitor it waited for. Arm `raw_monitor`; MT.
pub const JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED: jint = 52;
/// A thread leaves a raw monitor others wait for. Arm `raw_monitor`; MT.
pub const JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT: jint = 53;
/// A thread has to wait for a Java monitor. Arm `monitor`; GC-off.
pub const JVMPI_EVENT_MONITOR_CONTENDED_ENTER: jint = 54;
/// A thread got the Java monitor it waited for. Arm `monitor`; GC-off.
pub const JVMPI_EVENT_MONITOR_CONTENDED_ENTERED: jint = 55;
/// A thread leaves a Java monitor others wait for. Arm `monitor`; GC-off.
pub const JVMPI_EVENT_MONITOR_CONTENDED_EXIT: jint = 56;
/// A thread starts to wait on an object. Arm `monitor_wait`; GC-off.
pub const JVMPI_EVENT_MONITOR_WAIT: jint = 57;
/// A thread waited on an object. Arm `monitor_wait`; GC-off.
pub const JVMPI_EVENT_MONITOR_WAITED: jint = 58;
/// A dump of threads and monitors; only requested. Arm `monitor_dump`; GC-off.
pub const JVMPI_EVENT_MONITOR_DUMP: jint = 59;
/// A collection starts; the place to take locks. No arm; MT.
pub const JVMPI_EVENT_GC_START: jint = 60;
/// A collection ended; the place to drop them. Arm `gc_info`; MT.
pub const JVMPI_EVENT_GC_FINISH: jint = 61;

/// The greatest event type.
pub const JVMPI_MAX_EVENT_TYPE_VAL: jint = 61;

/// Set in `event_type`, beside the type, when the event answers `RequestEvent`.
pub const JVMPI_REQUESTED_EVENT: jint = 0x1000_0000;

// Older names of some event types, which agents still use.

/// Older name of [`JVMPI_EVENT_OBJECT_ALLOC`].
pub const JVMPI_EVENT_OBJ_ALLOC: jint = JVMPI_EVENT_OBJECT_ALLOC;
/// Older name of [`JVMPI_EVENT_OBJECT_FREE`].
pub const JVMPI_EVENT_OBJ_FREE: jint = JVMPI_EVENT_OBJECT_FREE;
/// Older name of [`JVMPI_EVENT_OBJECT_MOVE`].
pub const JVMPI_EVENT_OBJ_MOVE: jint = JVMPI_EVENT_OBJECT_MOVE;
/// Older name of [`JVMPI_EVENT_COMPILED_METHOD_LOAD`].
pub const JVMPI_EVENT_LOAD_COMPILED_METHOD: jint = JVMPI_EVENT_COMPILED_METHOD_LOAD;
/// Older name of [`JVMPI_EVENT_COMPILED_METHOD_UNLOAD`].
pub const JVMPI_EVENT_UNLOAD_COMPILED_METHOD: jint = JVMPI_EVENT_COMPILED_METHOD_UNLOAD;
/// Older name of [`JVMPI_EVENT_DATA_DUMP_REQUEST`].
pub const JVMPI_EVENT_DUMP_DATA_REQUEST: jint = JVMPI_EVENT_DATA_DUMP_REQUEST;
/// Older name of [`JVMPI_EVENT_DATA_RESET_REQUEST`].
pub const JVMPI_EVENT_RESET_DATA_REQUEST: jint = JVMPI_EVENT_DATA_RESET_REQUEST;
/// Older name of [`JVMPI_EVENT_ARENA_NEW`].
pub const JVMPI_EVENT_NEW_ARENA: jint = JVMPI_EVENT_ARENA_NEW;
/// Older name of [`JVMPI_EVENT_ARENA_DELETE`].
pub const JVMPI_EVENT_DELETE_ARENA: jint = JVMPI_EVENT_ARENA_DELETE;

// GetThreadStatus: one of the first three, and any of the bits.

/// Runs or could run.
pub const JVMPI_THREAD_RUNNABLE: jint = 1;
/// Blocked on entry to a monitor.
pub const JVMPI_THREAD_MONITOR_WAIT: jint = 2;
/// Waiting to be notified.
pub const JVMPI_THREAD_CONDVAR_WAIT: jint = 3;
/// Bit: suspended.
pub const JVMPI_THREAD_SUSPENDED: jint = 0x8000;
/// Bit: interrupted.
pub const JVMPI_THREAD_INTERRUPTED: jint = 0x4000;

// CreateSystemThread: priorities.

/// The lowest priority.
pub const JVMPI_MINIMUM_PRIORITY: jint = 1;
/// The usual priority.
pub const JVMPI_NORMAL_PRIORITY: jint = 5;
/// The highest priority.
pub const JVMPI_MAXIMUM_PRIORITY: jint = 10;

// Types of objects and values: `is_array` in JVMPI_Event_obj_alloc, the byte `ty` in dumps.

/// Not an array.
pub const JVMPI_NORMAL_OBJECT: jint = 0;
/// An array of references; in dumps also a reference.
pub const JVMPI_CLASS: jint = 2;
/// `boolean` and its arrays.
pub const JVMPI_BOOLEAN: jint = 4;
/// `char` and its arrays.
pub const JVMPI_CHAR: jint = 5;
/// `float` and its arrays.
pub const JVMPI_FLOAT: jint = 6;
/// `double` and its arrays.
pub const JVMPI_DOUBLE: jint = 7;
/// `byte` and its arrays.
pub const JVMPI_BYTE: jint = 8;
/// `short` and its arrays.
pub const JVMPI_SHORT: jint = 9;
/// `int` and its arrays.
pub const JVMPI_INT: jint = 10;
/// `long` and its arrays.
pub const JVMPI_LONG: jint = 11;

// Levels of a heap dump.

/// Types and IDs of the live objects.
pub const JVMPI_DUMP_LEVEL_0: jint = 0;
/// Roots and objects, without primitive fields and elements.
pub const JVMPI_DUMP_LEVEL_1: jint = 1;
/// Roots and objects with all their values.
pub const JVMPI_DUMP_LEVEL_2: jint = 2;

// Tags of the records in a heap or object dump. The header tells what follows each.

/// Root of unknown kind.
pub const JVMPI_GC_ROOT_UNKNOWN: u8 = 0xff;
/// Root: a JNI global reference.
pub const JVMPI_GC_ROOT_JNI_GLOBAL: u8 = 0x01;
/// Root: a JNI local reference.
pub const JVMPI_GC_ROOT_JNI_LOCAL: u8 = 0x02;
/// Root: a variable of a Java method.
pub const JVMPI_GC_ROOT_JAVA_FRAME: u8 = 0x03;
/// Root: a native stack.
pub const JVMPI_GC_ROOT_NATIVE_STACK: u8 = 0x04;
/// Root: a class that is never unloaded.
pub const JVMPI_GC_ROOT_STICKY_CLASS: u8 = 0x05;
/// Root: a thread.
pub const JVMPI_GC_ROOT_THREAD_BLOCK: u8 = 0x06;
/// Root: a monitor in use.
pub const JVMPI_GC_ROOT_MONITOR_USED: u8 = 0x07;
/// A tag of profile files; not in a JVMPI dump.
pub const JVMPI_GC_ROOT_THREAD_OBJ: u8 = 0x08;
/// A class.
pub const JVMPI_GC_CLASS_DUMP: u8 = 0x20;
/// An object that is neither a class nor an array.
pub const JVMPI_GC_INSTANCE_DUMP: u8 = 0x21;
/// An array of references.
pub const JVMPI_GC_OBJ_ARRAY_DUMP: u8 = 0x22;
/// An array of primitive values.
pub const JVMPI_GC_PRIM_ARRAY_DUMP: u8 = 0x23;

// Tags of the records in a monitor dump.

/// A Java monitor.
pub const JVMPI_MONITOR_JAVA: u8 = 0x01;
/// A raw monitor.
pub const JVMPI_MONITOR_RAW: u8 = 0x02;
