//! Critical sections, in which the VM may not be able to collect.

use super::global_ref::GlobalRef;
use super::jni::{Jni, jni};
use jni_sys::JNI_ABORT;
use std::ffi::c_void;
use std::ptr;

/// A critical section, in which the current thread has the elements of an array, until it is dropped. It calls no
/// JNI function meanwhile.
pub struct Critical<'a> {
    jni: Jni,
    array: &'a GlobalRef,
    elements: *mut c_void,
}

impl<'a> Critical<'a> {
    /// Begins one with an array of numbers; None if memory is short.
    pub fn begin(jni: Jni, array: &'a GlobalRef) -> Option<Self> {
        let elements = jni!(jni, GetPrimitiveArrayCritical, array.get(), ptr::null_mut());
        (!elements.is_null()).then_some(Self { jni, array, elements })
    }
}

impl Drop for Critical<'_> {
    fn drop(&mut self) {
        jni!(self.jni, ReleasePrimitiveArrayCritical, self.array.get(), self.elements, JNI_ABORT);
    }
}
