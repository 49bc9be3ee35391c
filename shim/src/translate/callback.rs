//! The common wrapper of all JVMTI callbacks.

use jni_sys::JNIEnv;
use jvm::Jni;
use jvm::boundary::guard;

/// Runs the body of a callback that JVMTI calls on the thread that `env` belongs to.
///
/// # Safety
/// `env` is NULL or the environment of the current thread, as JVMTI passes it to callbacks.
pub unsafe fn callback(env: *mut JNIEnv, body: impl FnOnce(Jni)) {
    if !env.is_null() {
        // SAFETY: the caller promises the environment, and the thread stays attached meanwhile.
        let jni = unsafe { Jni::new(env) };
        guard((), || body(jni));
    }
}
