//! The event structure and the members of its union.

use core::ffi::{c_char, c_int, c_uchar, c_uint, c_void};

use jni_sys::{JNIEnv, jboolean, jint, jlong, jmethodID, jobject};

use crate::{
    JVMPI_CallTrace, JVMPI_Field, JVMPI_Lineno, JVMPI_Method, JVMPI_RawMonitor, jobjectID,
};

/// The event that the VM passes to `NotifyEvent`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct JVMPI_Event {
    /// One of the `JVMPI_EVENT_…` constants, with [`JVMPI_REQUESTED_EVENT`](crate::JVMPI_REQUESTED_EVENT) set
    /// if the event answers `RequestEvent`.
    pub event_type: jint,
    /// The thread on which the event happened. In GC_START and GC_FINISH, some live thread.
    pub env_id: *mut JNIEnv,
    /// The data of the event: the union member that the type selects.
    pub u: JVMPI_Event_u,
}

/// The data of an event: the type of a member of [`JVMPI_Event_u`], or `()` for events without data.
///
/// # Safety
/// The implementing type is the type of a member, or `()`.
pub unsafe trait EventBody: Copy {}

// SAFETY: `()` is permitted.
unsafe impl EventBody for () {}

macro_rules! arms {
    ($($(#[doc = $events:literal])* $arm:ident: $type:ty,)*) => {
        /// The data of a [`JVMPI_Event`].
        #[repr(C)]
        #[derive(Clone, Copy)]
        pub union JVMPI_Event_u {
            $($(#[doc = $events])* pub $arm: $type,)*
        }

    // SAFETY: each `$type` is the type of a member.
        $(unsafe impl EventBody for $type {})*
    };
}

arms! {
    /// `CLASS_LOAD`.
    class_load: JVMPI_Event_class_load,
    /// `CLASS_UNLOAD`.
    class_unload: JVMPI_Event_class_unload,
    /// `CLASS_LOAD_HOOK`.
    class_load_hook: JVMPI_Event_class_load_hook,
    /// `OBJECT_ALLOC`.
    obj_alloc: JVMPI_Event_obj_alloc,
    /// `OBJECT_FREE`.
    obj_free: JVMPI_Event_obj_free,
    /// `OBJECT_MOVE`.
    obj_move: JVMPI_Event_obj_move,
    /// `ARENA_NEW`.
    new_arena: JVMPI_Event_new_arena,
    /// `ARENA_DELETE`.
    delete_arena: JVMPI_Event_delete_arena,
    /// `THREAD_START`.
    thread_start: JVMPI_Event_thread_start,
    /// `HEAP_DUMP`.
    heap_dump: JVMPI_Event_heap_dump,
    /// `JNI_GLOBALREF_ALLOC`, `JNI_WEAK_GLOBALREF_ALLOC`.
    jni_globalref_alloc: JVMPI_Event_jni_globalref_alloc,
    /// `JNI_GLOBALREF_FREE`, `JNI_WEAK_GLOBALREF_FREE`.
    jni_globalref_free: JVMPI_Event_jni_globalref_free,
    /// `METHOD_ENTRY`, `METHOD_EXIT`.
    method: JVMPI_Event_method,
    /// `METHOD_ENTRY2`.
    method_entry2: JVMPI_Event_method_entry2,
    /// `COMPILED_METHOD_LOAD`.
    compiled_method_load: JVMPI_Event_compiled_method_load,
    /// `COMPILED_METHOD_UNLOAD`.
    compiled_method_unload: JVMPI_Event_compiled_method_unload,
    /// `INSTRUCTION_START`.
    instruction: JVMPI_Event_instruction,
    /// `MONITOR_DUMP`.
    monitor_dump: JVMPI_Event_monitor_dump,
    /// `RAW_MONITOR_CONTENDED_ENTER`, `_ENTERED` and `_EXIT`.
    raw_monitor: JVMPI_Event_raw_monitor,
    /// `MONITOR_CONTENDED_ENTER`, `_ENTERED` and `_EXIT`.
    monitor: JVMPI_Event_monitor,
    /// `MONITOR_WAIT`, `MONITOR_WAITED`.
    monitor_wait: JVMPI_Event_monitor_wait,
    /// `GC_FINISH`.
    gc_info: JVMPI_Event_gc_info,
    /// `OBJECT_DUMP`.
    object_dump: JVMPI_Event_object_dump,
}

/// `CLASS_LOAD`: the class is linked; none of its code has run.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_class_load {
    /// The name of the class.
    pub class_name: *mut c_char,
    /// The name of the source file, without directories.
    pub source_name: *mut c_char,
    /// The number of direct interfaces.
    pub num_interfaces: jint,
    /// The number of entries in `methods`.
    pub num_methods: jint,
    /// The methods that the class declares, including constructors and `<clinit>`.
    pub methods: *mut JVMPI_Method,
    /// The number of entries in `statics`.
    pub num_static_fields: jint,
    /// The static fields that the class declares, in the order of dumps.
    pub statics: *mut JVMPI_Field,
    /// The number of entries in `instances`.
    pub num_instance_fields: jint,
    /// The instance fields that the class declares, without inherited ones, in the order of dumps.
    pub instances: *mut JVMPI_Field,
    /// The class.
    pub class_id: jobjectID,
}

/// `CLASS_UNLOAD`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_class_unload {
    /// The class.
    pub class_id: jobjectID,
}

/// `CLASS_LOAD_HOOK`: a class file about to be parsed.
///
/// The handler must set both `new_` fields. To keep the class file, it sets them to `class_data` and
/// `class_data_len`. To replace it, it sets them to a class file in memory from `malloc_f`, which the VM then
/// owns and frees.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_class_load_hook {
    /// The class file.
    pub class_data: *mut c_uchar,
    /// The length of `class_data` in bytes.
    pub class_data_len: jint,
    /// The class file to use.
    pub new_class_data: *mut c_uchar,
    /// The length of `new_class_data` in bytes.
    pub new_class_data_len: jint,
    /// Allocates memory for a new class file.
    pub malloc_f: Option<unsafe extern "C" fn(bytes: c_uint) -> *mut c_void>,
}

/// `OBJECT_ALLOC`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_obj_alloc {
    /// The arena of the object.
    pub arena_id: jint,
    /// The class of the object. For an array of references, the class of its elements, or NULL.
    pub class_id: jobjectID,
    /// `JVMPI_NORMAL_OBJECT`, `JVMPI_CLASS` for an array of references, or the code of a primitive type.
    pub is_array: jint,
    /// The size on the heap in bytes, including the header.
    pub size: jint,
    /// The object.
    pub obj_id: jobjectID,
}

/// `OBJECT_FREE`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_obj_free {
    /// The object.
    pub obj_id: jobjectID,
}

/// `OBJECT_MOVE`: `obj_id` is now `new_obj_id`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_obj_move {
    /// The old arena.
    pub arena_id: jint,
    /// The old ID.
    pub obj_id: jobjectID,
    /// The new arena.
    pub new_arena_id: jint,
    /// The new ID.
    pub new_obj_id: jobjectID,
}

/// `ARENA_NEW`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_new_arena {
    /// The arena.
    pub arena_id: jint,
    /// Its name.
    pub arena_name: *mut c_char,
}

/// `ARENA_DELETE`: all objects still in the arena are freed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_delete_arena {
    /// The arena.
    pub arena_id: jint,
}

/// `THREAD_START`. In a requested event, `env_id` is the thread that called `RequestEvent`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_thread_start {
    /// The name of the thread.
    pub thread_name: *mut c_char,
    /// The name of the thread group.
    pub group_name: *mut c_char,
    /// The name of the parent thread group.
    pub parent_name: *mut c_char,
    /// The Thread object.
    pub thread_id: jobjectID,
    /// The thread.
    pub thread_env_id: *mut JNIEnv,
}

/// `HEAP_DUMP`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_heap_dump {
    /// One of the `JVMPI_DUMP_LEVEL_…` constants.
    pub dump_level: c_int,
    /// The first byte of the records.
    pub begin: *mut c_char,
    /// The end of the records: the address after the last byte.
    pub end: *mut c_char,
    /// The number of entries in `traces`.
    pub num_traces: jint,
    /// The stack traces that the root records refer to; none at level 0.
    pub traces: *mut JVMPI_CallTrace,
}

/// `JNI_GLOBALREF_ALLOC`, `JNI_WEAK_GLOBALREF_ALLOC`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_jni_globalref_alloc {
    /// The object that the reference refers to.
    pub obj_id: jobjectID,
    /// The reference.
    pub ref_id: jobject,
}

/// `JNI_GLOBALREF_FREE`, `JNI_WEAK_GLOBALREF_FREE`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_jni_globalref_free {
    /// The reference.
    pub ref_id: jobject,
}

/// `METHOD_ENTRY`, `METHOD_EXIT`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_method {
    /// The method.
    pub method_id: jmethodID,
}

/// `METHOD_ENTRY2`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_method_entry2 {
    /// The method.
    pub method_id: jmethodID,
    /// The receiver; NULL in a static method.
    pub obj_id: jobjectID,
}

/// `COMPILED_METHOD_LOAD`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_compiled_method_load {
    /// The method.
    pub method_id: jmethodID,
    /// The start address of the code.
    pub code_addr: *mut c_void,
    /// The size of the code in bytes.
    pub code_size: jint,
    /// The number of entries in `lineno_table`.
    pub lineno_table_size: jint,
    /// The source lines, sorted by offset; NULL if there are none.
    pub lineno_table: *mut JVMPI_Lineno,
}

/// `COMPILED_METHOD_UNLOAD`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_compiled_method_unload {
    /// The method.
    pub method_id: jmethodID,
    /// The start address of the code. An extension to the specification.
    pub code_addr: *mut c_void,
}

/// `INSTRUCTION_START`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct JVMPI_Event_instruction {
    /// The method.
    pub method_id: jmethodID,
    /// The offset of the instruction in the method's bytecode, in bytes.
    pub offset: jint,
    /// The operands, for the instructions that have a member in the union; undefined for all others.
    pub u: JVMPI_Event_instruction_u,
}

/// The operands of an instruction.
#[repr(C)]
#[derive(Clone, Copy)]
pub union JVMPI_Event_instruction_u {
    /// For `if…` instructions.
    pub if_info: JVMPI_Event_instruction_if_info,
    /// For `tableswitch`.
    pub tableswitch_info: JVMPI_Event_instruction_tableswitch_info,
    /// For `lookupswitch`.
    pub lookupswitch_info: JVMPI_Event_instruction_lookupswitch_info,
}

/// An `if…` instruction.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_instruction_if_info {
    /// True if the branch is taken.
    pub is_true: jboolean,
}

/// A `tableswitch` instruction.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_instruction_tableswitch_info {
    /// The key.
    pub key: jint,
    /// The lowest key in the table.
    pub low: jint,
    /// The highest key in the table.
    pub hi: jint,
}

/// A `lookupswitch` instruction.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_instruction_lookupswitch_info {
    /// The index of the matching pair, counted from 0; `pairs_total` for the default.
    pub chosen_pair_index: jint,
    /// The number of pairs, without the default. The specification of J2SE 5 has `jboolean is_default` in this
    /// place.
    pub pairs_total: jint,
}

/// `MONITOR_DUMP`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_monitor_dump {
    /// The first byte of the records.
    pub begin: *mut c_char,
    /// The end of the records: the address after the last byte.
    pub end: *mut c_char,
    /// The number of entries in `traces` and in `threads_status`.
    pub num_traces: jint,
    /// The stack traces of all live threads.
    pub traces: *mut JVMPI_CallTrace,
    /// The status of each thread in `traces`, as from GetThreadStatus.
    pub threads_status: *mut jint,
}

/// `RAW_MONITOR_CONTENDED_ENTER`, `_ENTERED` and `_EXIT`. Not sent for monitors whose name begins with `_`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_raw_monitor {
    /// The name of the monitor.
    pub name: *mut c_char,
    /// The monitor.
    pub id: JVMPI_RawMonitor,
}

/// `MONITOR_CONTENDED_ENTER`, `_ENTERED` and `_EXIT`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_monitor {
    /// The object that the monitor belongs to.
    pub object: jobjectID,
}

/// `MONITOR_WAIT`, `MONITOR_WAITED`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_monitor_wait {
    /// The object; NULL for `Thread.sleep`.
    pub object: jobjectID,
    /// The timeout in milliseconds, where 0 means no limit. In `MONITOR_WAITED`, the time spent waiting.
    pub timeout: jlong,
}

/// `GC_FINISH`: the heap after the collection.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_gc_info {
    /// The number of live objects.
    pub used_objects: jlong,
    /// The size of the live objects in bytes.
    pub used_object_space: jlong,
    /// The size of the heap in bytes.
    pub total_object_space: jlong,
}

/// `OBJECT_DUMP`: one record of level 2.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_object_dump {
    /// The length of the record in bytes.
    pub data_len: jint,
    /// The record.
    pub data: *mut c_char,
}
