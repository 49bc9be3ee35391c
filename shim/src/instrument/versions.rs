//! The versions of a class that is rewritten again and again.
//!
//! Each differs from the previous one in all of its methods: HotSpot gives a method of an old version its own ID if the next version has changed the method. Suppose the next
//! version leaves the method unchanged and a later one changes it. Then frames of the old version have the ID of the
//! newest version but their own bytecode indexes, so it is unknown which code these refer to. HotSpot also compares the
//! numbers of local variables. So each rewritten version has 1 or 2 unused ones, alternately. The original version has
//! none.
//!
//! HotSpot merges the constants of the new version with those of the old one, and treats every NaN as
//! different. Before JDK 23 it does not check the limit for a class (JDK-8311076), and crashes. So the class
//! is left unchanged before it reaches the limit.

use crate::classes;
use jni_sys::{jclass, jmethodID};
use jvm::Jni;
use jvmpi_classfile::{ClassFile, Method};

/// Returns the number of local variables to add to the methods of the next version. `class` is NULL while it is being
/// loaded.
pub fn added_locals(file: &ClassFile<'_>, class: jclass) -> u16 {
    let added_now = if class.is_null() { None } else { added_to(file, class) };
    if added_now == Some(1) { 2 } else { 1 }
}

/// Returns the number of local variables that the present version has in addition to those of the file. None if the
/// class is not linked, so that none of its methods is running.
fn added_to(file: &ClassFile<'_>, class: jclass) -> Option<u16> {
    let jvmti = jvm::get().jvmti;
    let methods = jvmti.class_methods(class).ok()?;
    methods.iter().find_map(|method| {
        let now = jvmti.max_locals(*method).ok()?;
        let original = original(file, *method)?.code().ok()??;
        now.checked_sub(original.max_locals())
    })
}

fn original<'f>(file: &'f ClassFile<'_>, method: jmethodID) -> Option<Method<'f>> {
    let (name, descriptor) = jvm::get().jvmti.method_name(method).ok()?;
    let is_it = |found: &Method<'_>| {
        found.name() == name.to_bytes() && found.descriptor() == descriptor.to_bytes()
    };
    file.methods().find(is_it)
}

/// The first JDK that checks the limit.
const MENDED: u32 = 23;

/// The maximum number of constants of a class.
const MOST: usize = u16::MAX as usize;

/// Counts the constants of a class that the VM is about to rewrite to `new`, or to leave unchanged (None).
pub fn note_constants(jni: Jni, file: &ClassFile<'_>, class: jclass, new: Option<&[u8]>) {
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
