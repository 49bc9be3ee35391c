//! The library `libverify.so`, in which the VM verifies classes from class files before version 50. It uses JNI.
//!
//! The verifier's references must not be reported. The event would name the class being verified, which requires
//! linking that class. HotSpot then starts to link it a second time on the same thread, and rewrites code that is not
//! verified yet, which fails with `Illegal constant pool index`.

use super::jni_table;
use crate::platform::dynamic_loader::{self, library_of};
use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::ops::Range;
use std::sync::OnceLock;

/// Returns true if this return address is in the library.
pub fn calls(caller: usize) -> bool {
    static CODE: OnceLock<Option<Range<usize>>> = OnceLock::new();
    CODE.get_or_init(code).as_ref().is_some_and(|code| code.contains(&caller))
}

/// Returns the address range of the library. The VM loads it to verify the first such class.
fn code() -> Option<Range<usize>> {
    let libjvm = library_of(jni_table::originals()?.NewGlobalRef as *const () as usize)?.path;
    let path = libjvm.parent()?.parent()?.join(format!("{DLL_PREFIX}verify{DLL_SUFFIX}"));
    dynamic_loader::load(&path)
}
