//! A thin safe layer over JVMTI and JNI. The rest of the shim calls the JVM only through this module.

pub mod async_call_trace;
pub mod bound_functions;
pub mod caller;
pub mod capabilities;
mod class_files;
#[cfg(target_arch = "x86_64")]
mod compiled_code;
pub mod error;
mod global_ref;
pub mod internals;
mod invocation;
mod jni;
pub mod jni_table;
mod jvmti;
pub mod old_verifier;
pub mod os_priority;
pub mod own_memory;
pub mod symbols;
mod system_thread;
pub mod thread_snapshot;
pub mod thread_state;
mod values;
pub mod virtual_env;
pub mod virtual_threads;
mod vm;
pub mod vm_structs;

pub use class_files::ClassFileHook;
pub use error::{Error, Result};
pub use global_ref::{GlobalRef, WeakRef};
pub use invocation::answer_get_env;
pub use jni::{FieldId, Jni, LARGE_FRAME, MethodId};
pub use jvmti::classes::Field;
pub use jvmti::extensions::MountedVirtualThread;
pub use jvmti::{Jvmti, heap};
pub use system_thread::start_thread;
pub use values::Holder;
pub use vm::{Jvm, get, is_starting, start, try_get};
