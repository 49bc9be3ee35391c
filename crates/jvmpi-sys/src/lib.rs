//! `jvmpi.h` in Rust: the types and constants of the Java Virtual Machine Profiler Interface,
//! versions 1 to 1.2, under the names they have in C.
//!
//! The names and the layout are those of the header, which the tests compare member by member.
//! The header also says what a definition here leaves out: in which mode a function may be
//! called or an event is sent, and how dumps are encoded. The modes, in short:
//!
//! - **MT**: multithreaded, GC enabled. Everything is allowed.
//! - **GC-off**: multithreaded, GC disabled; IDs stay valid and do not change.
//! - **stopped**: threads are suspended; no allocation, no I/O, no locks.
//!
//! What an event points to belongs to the VM and is valid until `NotifyEvent` returns. Strings
//! are NUL-terminated modified UTF-8.
//!
//! Types of JNI come from [`jni_sys`]. Its `jboolean` is `bool`: where C writes one, only 0 and 1
//! may be written.

#![no_std]
#![allow(non_camel_case_types, non_snake_case)]

mod constants;
mod event;
mod event_types;
mod interface;

pub use constants::*;
pub use event::*;
pub use event_types::*;
pub use interface::*;
pub use jni_sys;

use core::ffi::c_char;

use jni_sys::{JNIEnv, jint, jmethodID};

/// What a [`jobjectID`] points to, known only to the VM.
#[derive(Debug)]
pub enum _jobjectID {}

/// The ID of an object; classes and threads are objects too.
pub type jobjectID = *mut _jobjectID;

/// What a [`JVMPI_RawMonitor`] points to, known only to the VM.
#[derive(Debug)]
pub enum _JVMPI_RawMonitor {}

/// The ID of a raw monitor.
pub type JVMPI_RawMonitor = *mut _JVMPI_RawMonitor;

/// One frame of a [`JVMPI_CallTrace`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_CallFrame {
    /// Source line; -1 unknown, -2 compiled method, -3 native method.
    pub lineno: jint,
    /// The method that executes.
    pub method_id: jmethodID,
}

/// The stack of a thread.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_CallTrace {
    /// Whose stack.
    pub env_id: *mut JNIEnv,
    /// Entries of `frames` that are filled.
    pub num_frames: jint,
    /// The callee before its caller.
    pub frames: *mut JVMPI_CallFrame,
}

/// A method in [`JVMPI_Event_class_load`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Method {
    /// Name, `<init>` and `<clinit>` included.
    pub method_name: *mut c_char,
    /// Descriptor, as `(I)Ljava/lang/String;`.
    pub method_signature: *mut c_char,
    /// First source line; -1 if there is none.
    pub start_lineno: jint,
    /// Last source line; -1 if there is none.
    pub end_lineno: jint,
    /// The method's ID.
    pub method_id: jmethodID,
}

/// A field in [`JVMPI_Event_class_load`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Field {
    /// Name.
    pub field_name: *mut c_char,
    /// Descriptor, as `[I`.
    pub field_signature: *mut c_char,
}

/// An entry of the table that maps compiled code to source lines.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Lineno {
    /// Bytes from the start of the compiled code.
    pub offset: jint,
    /// Source line.
    pub lineno: jint,
}

/// The argument of `RequestEvent(JVMPI_EVENT_HEAP_DUMP)`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_HeapDumpArg {
    /// `JVMPI_DUMP_LEVEL_…`.
    pub heap_dump_level: jint,
}
