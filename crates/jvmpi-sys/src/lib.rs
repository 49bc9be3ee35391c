//! `jvmpi.h` in Rust: the types and constants of the Java Virtual Machine Profiler Interface,
//! versions 1 to 1.2, under the names they have in C.
//!
//! This agent counts the classes that are loaded. The crate `jvmpi` is a safe interface for the same purpose.
//!
//! ```
//! use jvmpi_sys::jni_sys::{JNI_ERR, JNI_OK, JavaVM, jint};
//! use jvmpi_sys::*;
//! use std::ffi::{c_char, c_void};
//! use std::ptr;
//! use std::sync::atomic::{AtomicU32, Ordering};
//!
//! static CLASSES: AtomicU32 = AtomicU32::new(0);
//!
//! unsafe extern "C" fn notify_event(event: *mut JVMPI_Event) {
//!     // SAFETY: the VM passes a valid event.
//!     match unsafe { (*event).event_type } {
//!         JVMPI_EVENT_CLASS_LOAD => _ = CLASSES.fetch_add(1, Ordering::Relaxed),
//!         JVMPI_EVENT_JVM_SHUT_DOWN => eprintln!("{} classes", CLASSES.load(Ordering::Relaxed)),
//!         _ => {}
//!     }
//! }
//!
//! #[unsafe(no_mangle)]
//! unsafe extern "system" fn JVM_OnLoad(vm: *mut JavaVM, _: *mut c_char, _: *mut c_void) -> jint {
//!     let mut table = ptr::null_mut();
//!     // SAFETY: the VM calls this function with its own pointer, and GetEnv returns a table of this version.
//!     unsafe {
//!         if ((**vm).v1_2.GetEnv)(vm, &mut table, JVMPI_VERSION_1) != JNI_OK {
//!             return JNI_ERR;
//!         }
//!         let table: *mut JVMPI_Interface = table.cast();
//!         (*table).NotifyEvent = Some(notify_event);
//!         let Some(enable) = (*table).EnableEvent else { return JNI_ERR };
//!         for event in [JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_JVM_SHUT_DOWN] {
//!             if enable(event, ptr::null_mut()) != JVMPI_SUCCESS {
//!                 return JNI_ERR;
//!             }
//!         }
//!     }
//!     JNI_OK
//! }
//! ```
//!
//! The names and the layout are those of the header; tests compare every member. The header also documents what
//! these definitions omit: the modes in which each function may be called and each event is sent, and the format
//! of dumps. The modes are:
//!
//! - **MT**: multithreaded, GC enabled. Everything is permitted.
//! - **GC-off**: multithreaded, GC disabled. IDs stay valid and do not change.
//! - **stopped**: threads are suspended. No memory allocation, no I/O, no locks.
//!
//! The memory that an event points to belongs to the VM and is valid until `NotifyEvent` returns. Strings are
//! NUL-terminated modified UTF-8.
//!
//! JNI types come from [`jni_sys`]. Its `jboolean` is `bool`, so C code must write only 0 and 1.

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

/// The opaque target of a [`jobjectID`].
#[derive(Debug)]
pub enum _jobjectID {}

/// The ID of an object; classes and threads are objects too.
pub type jobjectID = *mut _jobjectID;

/// The opaque target of a [`JVMPI_RawMonitor`].
#[derive(Debug)]
pub enum _JVMPI_RawMonitor {}

/// The ID of a raw monitor.
pub type JVMPI_RawMonitor = *mut _JVMPI_RawMonitor;

/// One frame of a [`JVMPI_CallTrace`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_CallFrame {
    /// The source line; -1 for unknown, -2 for a compiled method, -3 for a native method.
    pub lineno: jint,
    /// The method that executes.
    pub method_id: jmethodID,
}

/// The stack trace of a thread.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_CallTrace {
    /// The thread.
    pub env_id: *mut JNIEnv,
    /// The number of valid entries in `frames`.
    pub num_frames: jint,
    /// The frames, innermost first.
    pub frames: *mut JVMPI_CallFrame,
}

/// A method in [`JVMPI_Event_class_load`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Method {
    /// The name, including `<init>` and `<clinit>`.
    pub method_name: *mut c_char,
    /// The descriptor, for example `(I)Ljava/lang/String;`.
    pub method_signature: *mut c_char,
    /// The first source line, or -1.
    pub start_lineno: jint,
    /// The last source line, or -1.
    pub end_lineno: jint,
    /// The ID of the method.
    pub method_id: jmethodID,
}

/// A field in [`JVMPI_Event_class_load`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Field {
    /// The name.
    pub field_name: *mut c_char,
    /// The descriptor, for example `[I`.
    pub field_signature: *mut c_char,
}

/// An entry in the table that maps compiled code to source lines.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Lineno {
    /// The offset in the compiled code, in bytes.
    pub offset: jint,
    /// The source line of the code from `offset` on.
    pub lineno: jint,
}

/// The argument of `RequestEvent(JVMPI_EVENT_HEAP_DUMP)`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_HeapDumpArg {
    /// One of the `JVMPI_DUMP_LEVEL_…` constants.
    pub heap_dump_level: jint,
}
