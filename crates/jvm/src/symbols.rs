//! Functions that libjvm exports in addition to those of JNI and JVMTI.

use super::vm;
use crate::platform::dynamic_loader::{library_of, symbol_in};
use std::ffi::{CStr, c_void};
use std::ptr::NonNull;

/// Returns the address of a function that libjvm exports, if it does.
pub fn find(name: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: the VM's invocation table is valid, and has had the slot since JNI 1.1.
    let inside_vm = unsafe { (**vm::get().vm()).v1_2.DestroyJavaVM } as usize;
    symbol_in(&library_of(inside_vm)?.path, name)
}
