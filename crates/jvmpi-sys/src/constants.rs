//! Versions, result codes, and the codes in events and dumps.

use jni_sys::jint;

/// The version of JDK 1.2.
pub const JVMPI_VERSION_1: jint = 0x1000_0001;
/// The version that adds ID conversion and `INSTRUCTION_START`.
pub const JVMPI_VERSION_1_1: jint = 0x1000_0002;
/// The version that adds `SuspendThreadList` and `ResumeThreadList`.
pub const JVMPI_VERSION_1_2: jint = 0x1000_0003;
/// An extension of `libjvmpi`: `GetEnv` returns a [`JVMPI_CpuSampling`](crate::JVMPI_CpuSampling).
pub const JVMPI_CPU_SAMPLING_1: jint = 0x1000_0101;

// Results of EnableEvent, DisableEvent and RequestEvent.

/// The call succeeded.
pub const JVMPI_SUCCESS: jint = 0;
/// This VM does not support the event.
pub const JVMPI_NOT_AVAILABLE: jint = 1;
/// The VM supports the event, but the call failed.
pub const JVMPI_FAIL: jint = -1;

// The result of GetThreadStatus is one of the first three values, combined with the flags.

/// Running or ready to run.
pub const JVMPI_THREAD_RUNNABLE: jint = 1;
/// Blocked on entry to a monitor.
pub const JVMPI_THREAD_MONITOR_WAIT: jint = 2;
/// Waiting to be notified.
pub const JVMPI_THREAD_CONDVAR_WAIT: jint = 3;
/// Flag: the thread is suspended.
pub const JVMPI_THREAD_SUSPENDED: jint = 0x8000;
/// Flag: the thread is interrupted.
pub const JVMPI_THREAD_INTERRUPTED: jint = 0x4000;

// The kinds of samples in JVMPI_CpuSample. Only the first has frames.

/// A thread with Java frames, also in native or VM code.
pub const JVMPI_CPU_SAMPLE_JAVA: jint = 0;
/// A Java thread whose stack could not be walked.
pub const JVMPI_CPU_SAMPLE_UNKNOWN: jint = 1;
/// A Java thread that ended before it took its samples.
pub const JVMPI_CPU_SAMPLE_ENDED: jint = 2;
/// Another thread, or a Java thread without Java frames.
pub const JVMPI_CPU_SAMPLE_VM: jint = 3;
/// A thread that collects garbage.
pub const JVMPI_CPU_SAMPLE_GC: jint = 4;
/// A JIT compiler thread.
pub const JVMPI_CPU_SAMPLE_COMPILER: jint = 5;
/// A thread of `libjvmpi` itself.
pub const JVMPI_CPU_SAMPLE_PROFILER: jint = 6;

// Priorities for CreateSystemThread.

/// The lowest priority.
pub const JVMPI_MINIMUM_PRIORITY: jint = 1;
/// The default priority.
pub const JVMPI_NORMAL_PRIORITY: jint = 5;
/// The highest priority.
pub const JVMPI_MAXIMUM_PRIORITY: jint = 10;

// Types of objects and values: `is_array` in JVMPI_Event_obj_alloc, and the type byte `ty` in dumps.

/// Not an array.
pub const JVMPI_NORMAL_OBJECT: jint = 0;
/// An array of references; in dumps also a single reference.
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

// Levels of heap dumps.

/// Types and IDs of the live objects.
pub const JVMPI_DUMP_LEVEL_0: jint = 0;
/// Roots and objects, without primitive fields and elements.
pub const JVMPI_DUMP_LEVEL_1: jint = 1;
/// Roots and objects with all their values.
pub const JVMPI_DUMP_LEVEL_2: jint = 2;

// Tags of the records in heap and object dumps. `jvmpi.h` describes the fields that follow each tag.

/// Root: of unknown kind.
pub const JVMPI_GC_ROOT_UNKNOWN: u8 = 0xff;
/// Root: a JNI global reference.
pub const JVMPI_GC_ROOT_JNI_GLOBAL: u8 = 0x01;
/// Root: a JNI local reference.
pub const JVMPI_GC_ROOT_JNI_LOCAL: u8 = 0x02;
/// Root: a local variable of a Java method.
pub const JVMPI_GC_ROOT_JAVA_FRAME: u8 = 0x03;
/// Root: a reference on a native stack.
pub const JVMPI_GC_ROOT_NATIVE_STACK: u8 = 0x04;
/// Root: a class that is never unloaded.
pub const JVMPI_GC_ROOT_STICKY_CLASS: u8 = 0x05;
/// Root: a thread.
pub const JVMPI_GC_ROOT_THREAD_BLOCK: u8 = 0x06;
/// Root: a monitor in use.
pub const JVMPI_GC_ROOT_MONITOR_USED: u8 = 0x07;
/// Root: a Thread object. HPROF files use this tag; JVMPI dumps do not.
pub const JVMPI_GC_ROOT_THREAD_OBJ: u8 = 0x08;
/// A class.
pub const JVMPI_GC_CLASS_DUMP: u8 = 0x20;
/// An object that is neither a class nor an array.
pub const JVMPI_GC_INSTANCE_DUMP: u8 = 0x21;
/// An array of references.
pub const JVMPI_GC_OBJ_ARRAY_DUMP: u8 = 0x22;
/// An array of primitive values.
pub const JVMPI_GC_PRIM_ARRAY_DUMP: u8 = 0x23;

// Tags of the records in monitor dumps.

/// A Java monitor.
pub const JVMPI_MONITOR_JAVA: u8 = 0x01;
/// A raw monitor.
pub const JVMPI_MONITOR_RAW: u8 = 0x02;
