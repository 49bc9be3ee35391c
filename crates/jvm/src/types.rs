//! The types and constants of JVMTI, and types of JNI that macros need. Only this crate calls the functions of JVMTI.

pub use jni_sys::{JNIEnv, jclass, jint, jobject};
pub use jvmpi_jvmti_sys::*;
