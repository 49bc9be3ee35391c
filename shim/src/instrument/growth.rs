//! Counts the constants that a class gains each time it is rewritten.
//!
//! HotSpot merges the constants of the new version with those of the old one, and treats every NaN as
//! different. Before JDK 23 it does not check the limit for a class (JDK-8311076), and crashes. So the class
//! is left unchanged before it reaches the limit.

use crate::classes;
use jni_sys::jclass;
use jvm::Jni;
use jvmpi_classfile::ClassFile;

/// The first JDK that checks the limit.
const MENDED: u32 = 23;

/// The maximum number of constants of a class.
const MOST: usize = u16::MAX as usize;

/// Counts the constants of a class that the VM is about to rewrite to `new`, or to leave unchanged (None).
pub fn note(jni: Jni, file: &ClassFile<'_>, class: jclass, new: Option<&[u8]>) {
    let nans = file.constant_pool().nans();
    if nans == 0 || class.is_null() || jvm::get().feature_version() >= MENDED {
        return;
    }
    let new = new.map(ClassFile::parse).and_then(Result::ok);
    let constants = new.map_or(file.constant_pool().len(), |new| new.constant_pool().len());
    let is_full = classes::with(jni, class, |class| {
        class.grow(nans) + constants + nans > MOST && class.keep_as_it_is()
    });
    if is_full == Ok(true) {
        let name = String::from_utf8_lossy(file.name());
        log::warn!(
            "the events of {name} cannot be switched any more: each time it is rewritten the VM duplicates \
             its NaN constants, and its constant pool is full"
        );
    }
}
