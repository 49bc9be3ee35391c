//! Replacements of the JNI functions that create and delete global references.

use super::jni_functions::{originals, replaces};
use super::references;
use crate::classes::references::Kind;
use jni_sys::{JNIEnv, jobject};
use jvm::boundary::guard;
use jvm::with_return_address;
use jvm::{Jni, old_verifier};

replaces! { NewGlobalRef DeleteGlobalRef NewWeakGlobalRef DeleteWeakGlobalRef }

/// Defines both functions for a kind of reference.
macro_rules! references {
    ($($kind:path: $new:ident by $new_by:ident, $delete:ident by $delete_by:ident;)*) => {$(
        with_return_address! {
            #[allow(non_snake_case)]
            fn $new(env: *mut JNIEnv, object: jobject) -> jobject => $new_by;
        }

        unsafe extern "system" fn $new_by(
            env: *mut JNIEnv,
            object: jobject,
            caller: usize,
        ) -> jobject {
            // SAFETY: the caller's arguments go to the function that they were meant for.
            let reference = unsafe { (originals().$new)(env, object) };
            if !reference.is_null() && !old_verifier::calls(caller) {
                // SAFETY: the environment is that of the thread that calls.
                guard((), || references::made(unsafe { Jni::new(env) }, $kind, object, reference));
            }
            reference
        }

        with_return_address! {
            #[allow(non_snake_case)]
            fn $delete(env: *mut JNIEnv, reference: jobject) -> () => $delete_by;
        }

        unsafe extern "system" fn $delete_by(env: *mut JNIEnv, reference: jobject, caller: usize) {
            if !reference.is_null() && !old_verifier::calls(caller) {
                // SAFETY: as above.
                guard((), || references::deleted(unsafe { Jni::new(env) }, $kind, reference));
            }
            // SAFETY: as above.
            unsafe { (originals().$delete)(env, reference) };
        }
    )*};
}

references! {
    Kind::Strong: NewGlobalRef by new_global_ref, DeleteGlobalRef by delete_global_ref;
    Kind::Weak: NewWeakGlobalRef by new_weak_global_ref, DeleteWeakGlobalRef by delete_weak_global_ref;
}
