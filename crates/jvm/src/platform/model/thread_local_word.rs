//! A pointer of each thread.

use super::machine;
use std::ptr;

/// Returns the pointer that the current thread set last, NULL at first.
pub fn get<T>() -> *const T {
    ptr::with_exposed_provenance(machine::word())
}

/// Sets the pointer of the current thread.
pub fn set<T>(pointer: *const T) {
    machine::set_word(pointer.expose_provenance());
}
