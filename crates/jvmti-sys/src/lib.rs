//! `jvmti.h`, the JVM Tool Interface, in Rust.
//!
//! This crate declares what the header of JDK 25 declares, under the names of the header; the JNI
//! types in it are those of [`jni_sys`]. What each item does is told by the
//! [JVMTI specification](https://docs.oracle.com/en/java/javase/25/docs/specs/jvmti.html).
//!
//! * Calls go through the table that an environment points to, as in C: `(**env).GetPhase`. Every
//!   slot is an `Option`, which is `None` only where the table is not filled by a JVM.
//! * C enums ([`jvmtiError`], [`jvmtiEvent`], [`jvmtiPhase`], ...) are integers and their
//!   enumerators constants: a newer JVM may send values that this header does not know.
//! * Flags and versions that the header declares in anonymous enums are [`jni_sys::jint`]s.
//! * [`jvmtiCapabilities`] has an accessor pair for each bit:
//!   `capabilities.set_can_tag_objects(1)`.
//! * `JNICALL` is `extern "system"`, as in [`jni_sys`]; what is variadic is `extern "C"`.
//!
//! An older JVM knows fewer functions and events. What is newer stands at the end of its table or
//! in a slot that was reserved, so the same declarations serve every JVM, as long as
//! `GetVersionNumber` is asked before a newer slot is used. [`jvmtiEventCallbacks`] goes to
//! `SetEventCallbacks` with its size, and an older JVM reads only what it knows of it.
//!
//! ```
//! use jvmti_sys::{JVMTI_ERROR_NONE, jvmtiEnv, jvmtiError, jvmtiPhase};
//!
//! /// # Safety
//! ///
//! /// `env` is an environment that `GetEnv` gave and that is not disposed of.
//! unsafe fn phase(env: *mut jvmtiEnv) -> Result<jvmtiPhase, jvmtiError> {
//!     let mut phase = 0;
//!     // SAFETY: the caller vouches for `env`, and GetPhase may be called in every phase.
//!     match unsafe { (**env).GetPhase.expect("every JVM has GetPhase")(env, &mut phase) } {
//!         JVMTI_ERROR_NONE => Ok(phase),
//!         error => Err(error),
//!     }
//! }
//! ```

pub use bindings::*;
pub use jni_sys;

// The names are those of C, and bindgen documents none of them.
#[allow(missing_docs, non_camel_case_types, non_snake_case, unused_qualifications)]
#[allow(clippy::all, clippy::pedantic, clippy::undocumented_unsafe_blocks)]
#[rustfmt::skip]
mod bindings;
