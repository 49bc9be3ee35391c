//! Reads and replaces the class files of loaded classes.

use super::retransformation::each;
use crate::records::class::{self, name_in_signature};
use crate::{classes, threads};
use jni_sys::jclass;
use jvm::types::{JVMTI_ERROR_NAMES_DONT_MATCH, JVMTI_ERROR_WRONG_PHASE};
use jvm::{ClassFileLoad, Error, Jni, Result};
use jvmpi_classfile::builder::ClassBuilder;
use std::cell::{Cell, RefCell};
use std::ffi::CStr;

/// The class file that the current thread is reading.
struct Reading {
    /// The name of the class, as class files spell it.
    name: Vec<u8>,
    file: Option<Vec<u8>>,
}

thread_local! {
    static READING: RefCell<Option<Reading>> = const { RefCell::new(None) };
    static IS_REPLACING: Cell<bool> = const { Cell::new(false) };
}

/// Returns the class file of a loaded class as it was before the shim rewrote it; None if the VM does not
/// show it.
///
/// JVMTI shows a class file only for a retransformation. The hook answers with the file of a class with
/// another name, so the VM cancels the retransformation: nothing has changed, and the program was not
/// stopped.
pub fn read(jni: Jni, class: jclass) -> Option<Vec<u8>> {
    let reader = jvm::get().reader_env;
    let signature = reader.class_signature(class).ok()?;
    let name = name_in_signature(signature.to_bytes()).to_vec();
    READING.set(Some(Reading { name, file: None }));
    // The VM misreads the code of a class that another thread is linking (JDK-8277444).
    if !class::is_ready(class) {
        classes::link(jni, class);
    }
    // The VM runs Java code the first time that it shows a class of a module.
    let refused = threads::internally(jni, || reader.retransform(&[class]));
    let file = READING.take().and_then(|reading| reading.file);
    if file.is_none() || refused != Err(Error(JVMTI_ERROR_NAMES_DONT_MATCH)) {
        log::debug!(
            "the VM does not give the class file of {}: {refused:?}",
            signature.to_string_lossy()
        );
    }
    file
}

/// Returns true if the current thread is reading a class file, for which classes may be linked.
pub fn is_reading() -> bool {
    READING.with_borrow(Option::is_some)
}

/// Returns true if the current thread is in [`read`] or [`replace`]. The VM may load classes there, and so call agents. A
/// retransformation inside would be of classes that are being retransformed.
pub fn is_at_work() -> bool {
    is_reading() || IS_REPLACING.get()
}

jvm::class_file_hook! {
    pub fn class_file_load_hook => store;
}

/// Stores the class file that the current thread is reading.
fn store(_: Jni, load: ClassFileLoad<'_>) {
    if !is_read(load.name) {
        return;
    }
    load.replace(jvm::get().reader_env, |file| {
        READING.with_borrow_mut(|reading| {
            let reading = reading.as_mut()?;
            reading.file = Some(file.to_vec());
            // A class file with a name that no loaded class can have.
            const JAVA_5: u16 = 49;
            Some(ClassBuilder::new(JAVA_5, "jvmpi/OfAnotherName").finish())
        })
    });
}

/// Returns true if the current thread is reading the file of the class with this name. Classes that are loaded meanwhile
/// have other names.
pub fn is_read(name: &CStr) -> bool {
    let is_it = |reading: &Reading| reading.name == name.to_bytes();
    READING.with_borrow(|reading| reading.as_ref().is_some_and(is_it))
}

/// Returns true if the VM shows the file of `class_being_redefined`, not that of another class.
pub fn is_redefined(load: &ClassFileLoad<'_>) -> bool {
    if load.class_being_redefined.is_null() {
        return false;
    }
    let signature =
        jvm::get().jvmti.class_signature(load.class_being_redefined).unwrap_or_default();
    load.name.is_empty() || name_in_signature(signature.to_bytes()) == load.name.to_bytes()
}

/// Replaces the class files of loaded classes. `refused` gets each one that the VM does not accept; its
/// class stays unchanged.
pub fn replace(files: &[(jclass, &[u8])], refused: impl Fn(jclass, Error)) -> Result<()> {
    let at_once = |files: &[(jclass, &[u8])]| match jvm::get().jvmti.redefine(files) {
        Err(error) if error == Error(JVMTI_ERROR_WRONG_PHASE) => Err(error),
        result => Ok(result),
    };
    let is_linked = |_| true;
    IS_REPLACING.set(true);
    let replaced = each(files, &at_once, &is_linked, &|(class, _), error| refused(class, error));
    IS_REPLACING.set(false);
    replaced
}
