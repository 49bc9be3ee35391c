//! The JNI functions that the shim replaces, in groups that are switched independently: here those that allocate without
//! bytecode, and those that enter and leave monitors.

use super::{monitors, objects};
use crate::threads;
use jni_sys::{JNI_OK, JNIEnv, jchar, jclass, jint, jobject, jsize};
use jvm::Jni;
use jvm::boundary::guard;
use jvm::jni_table::{self, Functions};
use std::ffi::c_char;

/// Defines a function that installs functions of the same names in the JNI function table, or restores the originals.
macro_rules! replaces {
    (pub fn $replace:ident: $($slot:ident)*) => {
        /// Installs these functions in the JNI function table, or restores the originals.
        pub fn $replace(on: bool) -> jvm::Result<()> {
            let _alone = crate::sync::vm_locks::for_tags();
            jvm::jni_table::edit(jvm::get().jvmti, |table, originals| {
                $(
                    // Another agent may have installed its own function since, which calls ours.
                    if on {
                        table.$slot = $slot;
                    } else if table.$slot as *const () == $slot as *const () {
                        table.$slot = originals.$slot;
                    }
                )*
            })
        }
    };
}
pub(super) use replaces;

pub fn originals() -> &'static Functions {
    jni_table::originals().expect("the functions were replaced")
}

replaces! {
    pub fn replace_allocations: AllocObject NewString NewStringUTF NewObjectArray NewBooleanArray
        NewByteArray NewCharArray NewShortArray NewIntArray NewLongArray NewFloatArray NewDoubleArray
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

replaces! { pub fn replace_monitors: MonitorEnter MonitorExit }

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
