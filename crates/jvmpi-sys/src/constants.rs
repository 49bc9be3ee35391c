//! Versions, results, and the codes that occur in events and dumps.

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
