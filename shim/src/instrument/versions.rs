//! Makes each version of a class differ from the previous one in all of its methods.
//!
//! HotSpot gives a method of an old version its own ID if the next version has changed the method. Suppose the next
//! version leaves the method unchanged and a later one changes it. Then frames of the old version have the ID of the
//! newest version but their own bytecode indexes, so it is unknown which code these refer to. HotSpot also compares the
//! numbers of local variables. So each rewritten version has 1 or 2 unused ones, alternately. The original version has
//! none.

use jni_sys::{jclass, jmethodID};
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
