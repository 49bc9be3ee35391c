//! Replacements of the JNI functions that enter and leave monitors.

use super::jni_functions::{originals, replaces};
use super::monitors;
use crate::threads;
use jni_sys::{JNI_OK, JNIEnv, jint, jobject};
use jvm::Jni;
use jvm::boundary::guard;

replaces! { MonitorEnter MonitorExit }

#[allow(non_snake_case)]
unsafe extern "system" fn MonitorEnter(env: *mut JNIEnv, object: jobject) -> jint {
    // SAFETY: the caller's arguments go to the function that they were meant for.
    let result = unsafe { (originals().MonitorEnter)(env, object) };
    if result == JNI_OK {
        guard((), || {
            // SAFETY: the environment is that of the thread that calls.
            let jni = unsafe { Jni::new(env) };
            threads::current(jni).jni_monitors.entered(jni, object);
        });
    }
    result
}

#[allow(non_snake_case)]
unsafe extern "system" fn MonitorExit(env: *mut JNIEnv, object: jobject) -> jint {
    // SAFETY: as above.
    let jni = || unsafe { Jni::new(env) };
    guard((), || monitors::leaving_by_jni(jni(), object));
    // SAFETY: as above.
    let result = unsafe { (originals().MonitorExit)(env, object) };
    if result == JNI_OK {
        // An exception may be pending.
        let left = |jni| threads::current(jni).jni_monitors.left(jni, object);
        guard((), || jni().frame(4, left));
    }
    result
}
