//! Each version of a class differs from the one before in all of its methods.
//!
//! HotSpot gives a method of an old version an ID of its own if the next version has changed the method. If the
//! next version has left the method as it is and a later one has not, frames of the old version have the ID of the
//! newest one, and bytecode indexes of their own: nobody can tell which code these belong to. HotSpot also
//! compares the numbers of local variables. So each rewritten version has another number of unused ones than
//! the one before: 1 or 2. The original has none.

use crate::jvm;
use classfile::{ClassFile, Method};
use jni_sys::{jclass, jmethodID};

/// Returns the number of local variables that the methods of the next version get. `class` is NULL if it is just being loaded.
pub fn added_locals(file: &ClassFile<'_>, class: jclass) -> u16 {
    let added_now = if class.is_null() { None } else { added_to(file, class) };
    if added_now == Some(1) { 2 } else { 1 }
}

/// Returns the number of local variables that the present version has more than the file. None if the class is not
/// linked: then none of its methods is running.
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
