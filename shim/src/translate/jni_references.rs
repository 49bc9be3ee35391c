//! The JNI functions that make and delete global references.

use super::jni_functions::{originals, replaces};
use super::references;
use crate::boundary::guard;
use crate::jvm::Jni;
use crate::world::references::Kind;
use jni_sys::{JNIEnv, jobject};

replaces! { NewGlobalRef DeleteGlobalRef NewWeakGlobalRef DeleteWeakGlobalRef }

/// Defines the two functions for a kind of reference.
macro_rules! references {
    ($($kind:path: $new:ident, $delete:ident;)*) => {$(
        #[allow(non_snake_case)]
        unsafe extern "system" fn $new(env: *mut JNIEnv, object: jobject) -> jobject {
            // SAFETY: the caller's arguments go to the function that they were meant for.
            let reference = unsafe { (originals().$new)(env, object) };
            if !reference.is_null() {
                // SAFETY: the environment is that of the thread that calls.
                guard((), || references::made(unsafe { Jni::new(env) }, $kind, object, reference));
            }
            reference
        }

        #[allow(non_snake_case)]
        unsafe extern "system" fn $delete(env: *mut JNIEnv, reference: jobject) {
            if !reference.is_null() {
                // SAFETY: as above.
                guard((), || references::deleted(unsafe { Jni::new(env) }, $kind, reference));
            }
            // SAFETY: as above.
            unsafe { (originals().$delete)(env, reference) };
        }
    )*};
}

references! {
    Kind::Strong: NewGlobalRef, DeleteGlobalRef;
    Kind::Weak: NewWeakGlobalRef, DeleteWeakGlobalRef;
}
