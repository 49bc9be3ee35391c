//! JVMTI, JNI, HotSpot and the operating system, behind functions for Rust. Nothing in it knows of JVMPI.
//!
//! The functions have the names of the specifications that they come from, which document them.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![allow(missing_docs)]
// References of JNI are pointers only by their type. JVMTI checks them; JNI gets live ones, as its specification demands.
#![allow(clippy::not_unsafe_ptr_arg_deref)]
#![allow(clippy::new_without_default)]

pub mod async_call_trace;
pub mod bound_functions;
pub mod boundary;
pub mod caller;
pub mod capabilities;
mod class_files;
mod global_ref;
pub mod internals;
mod invocation;
mod jni;
pub mod jni_table;
mod jvmti;
pub mod lock;
pub mod logging;
pub mod old_verifier;
pub mod platform;
pub mod suspending;
pub mod symbols;
mod system_thread;
pub mod thread_snapshot;
pub mod thread_state;
pub mod types;
mod values;
pub mod virtual_env;
pub mod virtual_threads;
mod vm;
pub mod vm_structs;

pub use class_files::ClassFileLoad;
pub use global_ref::{GlobalRef, WeakRef};
pub use invocation::answer_get_env;
pub use jni::{FieldId, Jni, LARGE_FRAME, MethodId};
pub use jvmti::classes::Field;
pub use jvmti::extensions::MountedVirtualThread;
pub use jvmti::{Error, Jvmti, Result, heap};
pub use system_thread::start_thread;
pub use values::Holder;
pub use vm::{Jvm, get, is_starting, start, try_get};
