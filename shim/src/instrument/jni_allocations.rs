//! The JNI functions that allocate without any bytecode: their results are reported.

use crate::boundary::guard;
use crate::jvm::{self, Jni};
use crate::translate::objects;
use jni_sys::{JNIEnv, JNINativeInterface_, jchar, jclass, jobject, jsize};
use std::ffi::c_char;
use std::sync::OnceLock;

struct Table(JNINativeInterface_);

// SAFETY: the table is function pointers and reserved words that nobody writes.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

/// The functions as they were.
static ORIGINAL: OnceLock<Table> = OnceLock::new();

fn original() -> &'static JNINativeInterface_ {
    &ORIGINAL.get().expect("the functions were replaced").0
}

/// Puts the functions below in the place of the VM's, or takes them away again.
pub fn report(on: bool) -> jvm::Result<()> {
    let jvmti = jvm::get().jvmti;
    if ORIGINAL.get().is_none() {
        let table = jvmti.jni_function_table()?;
        ORIGINAL.get_or_init(|| Table(table));
    }
    let mut table = jvmti.jni_function_table()?;
    macro_rules! replace {
        ($($slot:ident)*) => {
            // SAFETY: every table has the slots of JNI 1.2.
            $(table.v1_2.$slot = if on { $slot } else { unsafe { original().v1_2.$slot } };)*
        };
    }
    replace! {
        AllocObject NewString NewStringUTF NewObjectArray NewBooleanArray NewByteArray
        NewCharArray NewShortArray NewIntArray NewLongArray NewFloatArray NewDoubleArray
    }
    jvmti.set_jni_function_table(&table)
}

/// Defines a JNI function that calls the original one and reports what it returns.
macro_rules! reporting {
    ($(fn $slot:ident($($argument:ident: $type:ty),*) => $report:path;)*) => {$(
        #[allow(non_snake_case)]
        unsafe extern "system" fn $slot(env: *mut JNIEnv $(, $argument: $type)*) -> jobject {
            // SAFETY: the caller's arguments go to the function that they were meant for.
            let object = unsafe { (original().v1_2.$slot)(env $(, $argument)*) };
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
