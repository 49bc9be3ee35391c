//! The library by which the VM verifies classes of class files before version 50, with JNI functions.
//!
//! What it does must not be reported: an event would name the class that is being verified, which has to
//! be linked for that. HotSpot lets the thread that links a class begin anew, and rewrites the code that
//! it has not verified yet; then it finds `Illegal constant pool index`.

use super::jni_table;
use crate::dynamic_loader::{self, library_of};
use std::ops::Range;
use std::sync::OnceLock;

/// Whether this address is the library's.
pub fn calls(caller: usize) -> bool {
    static CODE: OnceLock<Option<Range<usize>>> = OnceLock::new();
    CODE.get_or_init(code).as_ref().is_some_and(|code| code.contains(&caller))
}

/// Where the library lies. The VM loads it when it has the first such class to verify.
fn code() -> Option<Range<usize>> {
    let libjvm = library_of(jni_table::originals()?.NewGlobalRef as *const () as usize)?.path;
    let path = libjvm.parent()?.parent()?.join("libverify.so");
    dynamic_loader::load(&path)
}
