//! `jvmti.h`, the JVM Tool Interface, in Rust.
//!
//! This crate declares what the header of JDK 25 declares, under the names of the header. JNI types come from
//! [`jni_sys`]. The
//! [JVMTI specification](https://docs.oracle.com/en/java/javase/25/docs/specs/jvmti.html) documents each item.
//!
//! ```
//! use jvmpi_jvmti_sys::{JVMTI_ERROR_NONE, jvmtiEnv, jvmtiError, jvmtiPhase};
//!
//! /// # Safety
//! ///
//! /// `env` is an environment from `GetEnv` that has not been disposed of.
//! unsafe fn phase(env: *mut jvmtiEnv) -> Result<jvmtiPhase, jvmtiError> {
//!     let mut phase = 0;
//!     // SAFETY: as the caller promises; GetPhase may be called in every phase.
//!     match unsafe { (**env).GetPhase.expect("every JVM has GetPhase")(env, &mut phase) } {
//!         JVMTI_ERROR_NONE => Ok(phase),
//!         error => Err(error),
//!     }
//! }
//! ```
//!
//! * Calls go through the table that an environment points to, as in C: `(**env).GetPhase`. Every slot is an
//!   `Option`, which is never `None` in a table that a JVM has filled, except for reserved slots.
//! * C enums ([`jvmtiError`], [`jvmtiEvent`], [`jvmtiPhase`], ...) are integers with constants for their
//!   enumerators, because a newer JVM may send values that this header does not declare.
//! * Flags and versions that the header declares in anonymous enums are [`jni_sys::jint`]s.
//! * [`jvmtiCapabilities`] has a getter and a setter for each bit: `capabilities.set_can_tag_objects(1)`.
//! * `JNICALL` is `extern "system"`, as in [`jni_sys`]; variadic functions are `extern "C"`.
//!
//! The declarations work with older JVMs too. Newer functions are at the end of the table or in slots that were
//! reserved before; call `GetVersionNumber` before using them. [`jvmtiEventCallbacks`] is passed to
//! `SetEventCallbacks` with its size, and an older JVM reads only the part that it knows.

pub use bindings::*;
pub use jni_sys;

// The names are those of C, and bindgen generates no documentation.
#[allow(missing_docs, non_camel_case_types, non_snake_case, unused_qualifications)]
#[allow(clippy::all, clippy::pedantic, clippy::undocumented_unsafe_blocks)]
#[rustfmt::skip]
mod bindings;
