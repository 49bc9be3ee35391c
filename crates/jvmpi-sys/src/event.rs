//! The event and the arms of its union.

use core::ffi::{c_char, c_int, c_uchar, c_uint, c_void};

use jni_sys::{JNIEnv, jboolean, jint, jlong, jmethodID, jobject};

use crate::{
    JVMPI_CallTrace, JVMPI_Field, JVMPI_Lineno, JVMPI_Method, JVMPI_RawMonitor, jobjectID,
};

/// What `NotifyEvent` is given.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct JVMPI_Event {
    /// `JVMPI_EVENT_…`, or-ed with [`JVMPI_REQUESTED_EVENT`](crate::JVMPI_REQUESTED_EVENT) if
    /// requested.
    pub event_type: jint,
    /// The thread it happened on; in GC events, some live thread.
    pub env_id: *mut JNIEnv,
    /// The data of the event, in the arm its type names.
    pub u: JVMPI_Event_u,
}

/// The data of an event: a member of [`JVMPI_Event_u`], or `()` if the event has none.
///
/// # Safety
/// The type is that of a member, or empty.
pub unsafe trait Arm: Copy {}

// SAFETY: it is empty.
unsafe impl Arm for () {}

macro_rules! arms {
    ($($(#[doc = $events:literal])* $arm:ident: $type:ty,)*) => {
        /// The data of a [`JVMPI_Event`].
        #[repr(C)]
        #[derive(Clone, Copy)]
        pub union JVMPI_Event_u {
            $($(#[doc = $events])* pub $arm: $type,)*
        }

        // SAFETY: each is the type of a member.
        $(unsafe impl Arm for $type {})*
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

/// `CLASS_LOAD`: the class is linked, none of its code has run.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_class_load {
    /// Name of the class.
    pub class_name: *mut c_char,
    /// Source file name without directories.
    pub source_name: *mut c_char,
    /// Number of direct interfaces.
    pub num_interfaces: jint,
    /// Entries of `methods`.
    pub num_methods: jint,
    /// The methods it declares, constructors and `<clinit>` included.
    pub methods: *mut JVMPI_Method,
    /// Entries of `statics`.
    pub num_static_fields: jint,
    /// The static fields it declares, in the order of dumps.
    pub statics: *mut JVMPI_Field,
    /// Entries of `instances`.
    pub num_instance_fields: jint,
    /// The instance fields it declares, in the order of dumps; none that are inherited.
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

/// `CLASS_LOAD_HOOK`: a class file about to be parsed. The handler always sets both `new_`
/// fields: to `class_data` and `class_data_len` to leave it as it is, or to a class file of its
/// own in memory from `malloc_f`, which the VM then owns and frees.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_class_load_hook {
    /// The class file.
    pub class_data: *mut c_uchar,
    /// Its length in bytes.
    pub class_data_len: jint,
    /// The class file to use.
    pub new_class_data: *mut c_uchar,
    /// Its length in bytes.
    pub new_class_data_len: jint,
    /// Allocates so many bytes for a new class file.
    pub malloc_f: Option<unsafe extern "C" fn(bytes: c_uint) -> *mut c_void>,
}

/// `OBJECT_ALLOC`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_obj_alloc {
    /// The arena it is in.
    pub arena_id: jint,
    /// Its class; of an array of references, the element class or NULL.
    pub class_id: jobjectID,
    /// `JVMPI_NORMAL_OBJECT`, `JVMPI_CLASS` or a primitive type.
    pub is_array: jint,
    /// Bytes on the heap, header included.
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
    /// The arena it was in.
    pub arena_id: jint,
    /// The ID it had.
    pub obj_id: jobjectID,
    /// The arena it is in.
    pub new_arena_id: jint,
    /// The ID it has.
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

/// `ARENA_DELETE`: all objects still in it are freed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_delete_arena {
    /// The arena.
    pub arena_id: jint,
}

/// `THREAD_START`; if requested, the event's `env_id` is who asked.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_thread_start {
    /// Name of the thread.
    pub thread_name: *mut c_char,
    /// Name of its group.
    pub group_name: *mut c_char,
    /// Name of the parent of its group.
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
    /// `JVMPI_DUMP_LEVEL_…`.
    pub dump_level: c_int,
    /// The first byte of the records.
    pub begin: *mut c_char,
    /// The byte after the last.
    pub end: *mut c_char,
    /// Entries of `traces`.
    pub num_traces: jint,
    /// The stacks that the root records name; none at level 0.
    pub traces: *mut JVMPI_CallTrace,
}

/// `JNI_GLOBALREF_ALLOC`, `JNI_WEAK_GLOBALREF_ALLOC`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_jni_globalref_alloc {
    /// The object referred to.
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
    /// Start of the code.
    pub code_addr: *mut c_void,
    /// Its length in bytes.
    pub code_size: jint,
    /// Entries of `lineno_table`.
    pub lineno_table_size: jint,
    /// Source lines, sorted by offset; NULL if there are none.
    pub lineno_table: *mut JVMPI_Lineno,
}

/// `COMPILED_METHOD_UNLOAD`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_compiled_method_unload {
    /// The method.
    pub method_id: jmethodID,
    /// Where the code was. Not in the specification.
    pub code_addr: *mut c_void,
}

/// `INSTRUCTION_START`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct JVMPI_Event_instruction {
    /// The method.
    pub method_id: jmethodID,
    /// Bytes from the start of the method's bytecode.
    pub offset: jint,
    /// Filled for the instructions it names, and only for them.
    pub u: JVMPI_Event_instruction_u,
}

/// What an instruction is about to do.
#[repr(C)]
#[derive(Clone, Copy)]
pub union JVMPI_Event_instruction_u {
    /// `if…`.
    pub if_info: JVMPI_Event_instruction_if_info,
    /// `tableswitch`.
    pub tableswitch_info: JVMPI_Event_instruction_tableswitch_info,
    /// `lookupswitch`.
    pub lookupswitch_info: JVMPI_Event_instruction_lookupswitch_info,
}

/// An `if…` instruction.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_instruction_if_info {
    /// Whether the branch is taken.
    pub is_true: jboolean,
}

/// A `tableswitch` instruction.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_instruction_tableswitch_info {
    /// The value switched on.
    pub key: jint,
    /// The lowest value in the table.
    pub low: jint,
    /// The highest value in the table.
    pub hi: jint,
}

/// A `lookupswitch` instruction.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_instruction_lookupswitch_info {
    /// The pair that matched, 0 for the first; `pairs_total` for the default.
    pub chosen_pair_index: jint,
    /// Pairs of the instruction, the default not counted. The specification of J2SE 5 has
    /// `jboolean is_default` here.
    pub pairs_total: jint,
}

/// `MONITOR_DUMP`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_monitor_dump {
    /// The first byte of the records.
    pub begin: *mut c_char,
    /// The byte after the last.
    pub end: *mut c_char,
    /// Entries of `traces` and of `threads_status`.
    pub num_traces: jint,
    /// The stacks of all live threads.
    pub traces: *mut JVMPI_CallTrace,
    /// `JVMPI_THREAD_…` of the thread of `traces[i]`.
    pub threads_status: *mut jint,
}

/// `RAW_MONITOR_CONTENDED_ENTER`, `_ENTERED` and `_EXIT`; not sent for monitors whose name begins
/// with `_`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_raw_monitor {
    /// Name of the monitor.
    pub name: *mut c_char,
    /// The monitor.
    pub id: JVMPI_RawMonitor,
}

/// `MONITOR_CONTENDED_ENTER`, `_ENTERED` and `_EXIT`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_monitor {
    /// The object whose monitor it is.
    pub object: jobjectID,
}

/// `MONITOR_WAIT`, `MONITOR_WAITED`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_monitor_wait {
    /// The object waited on; NULL in `Thread.sleep`.
    pub object: jobjectID,
    /// Milliseconds asked for, 0 for ever; when `WAITED`, spent waiting.
    pub timeout: jlong,
}

/// `GC_FINISH`: the heap after the collection.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_gc_info {
    /// Number of live objects.
    pub used_objects: jlong,
    /// Bytes they use.
    pub used_object_space: jlong,
    /// Bytes of the heap.
    pub total_object_space: jlong,
}

/// `OBJECT_DUMP`: one record of level 2.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_object_dump {
    /// Length in bytes.
    pub data_len: jint,
    /// The record.
    pub data: *mut c_char,
}
