//! Replacements of the JNI functions that allocate without bytecode. They report their
//! results.

use super::jni_functions::{originals, replaces};
use super::objects;
use jni_sys::{JNIEnv, jchar, jclass, jobject, jsize};
use jvm::Jni;
use jvm::boundary::guard;
use std::ffi::c_char;

replaces! {
    AllocObject NewString NewStringUTF NewObjectArray NewBooleanArray NewByteArray
    NewCharArray NewShortArray NewIntArray NewLongArray NewFloatArray NewDoubleArray
}

/// Defines a JNI function that calls the original and reports the result.
macro_rules! reporting {
    ($(fn $slot:ident($($argument:ident: $type:ty),*) => $report:path;)*) => {$(
        #[allow(non_snake_case)]
        unsafe extern "system" fn $slot(env: *mut JNIEnv $(, $argument: $type)*) -> jobject {
            // SAFETY: the caller's arguments go to the function that they were meant for.
            let object = unsafe { (originals().$slot)(env $(, $argument)*) };
            if !object.is_null() {
                // SAFETY: the environment is that of the thread that calls.
                guard((), || $report(unsafe { Jni::new(env) }, object));
            }
            object
        }
    )*};
}

reporting! {
    fn AllocObject(class: jclass) => objects::unconstructed;
    fn NewString(characters: *const jchar, length: jsize) => objects::seen_string;
    fn NewStringUTF(characters: *const c_char) => objects::seen_string;
    fn NewObjectArray(length: jsize, class: jclass, element: jobject) => objects::seen;
    fn NewBooleanArray(length: jsize) => objects::seen;
    fn NewByteArray(length: jsize) => objects::seen;
    fn NewCharArray(length: jsize) => objects::seen;
    fn NewShortArray(length: jsize) => objects::seen;
    fn NewIntArray(length: jsize) => objects::seen;
    fn NewLongArray(length: jsize) => objects::seen;
    fn NewFloatArray(length: jsize) => objects::seen;
    fn NewDoubleArray(length: jsize) => objects::seen;
}
