//! Reads and replaces the class files of loaded classes.

use super::retransformation::each;
use crate::classes;
use crate::records::class::{self, name_in_signature};
use crate::threads;
use jni_sys::{JNIEnv, jclass, jint, jobject};
use jvm::boundary::guard;
use jvm::types::{JVMTI_ERROR_NAMES_DONT_MATCH, JVMTI_ERROR_WRONG_PHASE, jvmtiEnv};
use jvm::{ClassFileHook, Error, Jni, Result};
use jvmpi_classfile::builder::ClassBuilder;
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_char, c_uchar};

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

/// Stores the class file that the current thread is reading.
pub unsafe extern "system" fn class_file_load_hook(
    _: *mut jvmtiEnv,
    _: *mut JNIEnv,
    _class_being_redefined: jclass,
    _loader: jobject,
    name: *const c_char,
    _protection_domain: jobject,
    class_data_len: jint,
    class_data: *const c_uchar,
    new_class_data_len: *mut jint,
    new_class_data: *mut *mut c_uchar,
) {
    let take = |file: &[u8]| {
        READING.with_borrow_mut(|reading| {
            let reading = reading.as_mut()?;
            reading.file = Some(file.to_vec());
            Some(of_another_name())
        })
    };
    guard((), || {
        // SAFETY: JVMTI passes a string, or NULL.
        if !unsafe { is_read(name) } {
            return;
        }
        let hook = ClassFileHook { class_data_len, class_data, new_class_data_len, new_class_data };
        // SAFETY: these are the parameters of this callback.
        unsafe { hook.replace(jvm::get().reader_env, take) };
    });
}

/// Returns true if the current thread is reading the class file that the VM shows. Classes that are
/// loaded meanwhile have other names.
///
/// # Safety
/// `name` is NULL or a NUL-terminated string.
pub unsafe fn is_read(name: *const c_char) -> bool {
    READING.with_borrow(|reading| {
        // SAFETY: as the caller promises.
        let is_it = |reading: &Reading| reading.name == unsafe { CStr::from_ptr(name) }.to_bytes();
        !name.is_null() && reading.as_ref().is_some_and(is_it)
    })
}

/// Returns true if this ClassFileLoadHook call redefines `class`. HotSpot also passes `class` for a class
/// of another name that it loads at the beginning of the redefinition, so the names are compared.
pub fn is_redefined(class: jclass, name: &CStr) -> bool {
    if class.is_null() {
        return false;
    }
    let signature = jvm::get().jvmti.class_signature(class).unwrap_or_default();
    name.is_empty() || name_in_signature(signature.to_bytes()) == name.to_bytes()
}

/// Returns a class file with a name that no loaded class can have.
fn of_another_name() -> Vec<u8> {
    const JAVA_5: u16 = 49;
    ClassBuilder::new(JAVA_5, "jvmpi/OfAnotherName").finish()
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
