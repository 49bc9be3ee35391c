//! The callback of `ClassFileLoadHook`.

use super::jvmti::Jvmti;
use jni_sys::{jclass, jint, jobject};
use std::ffi::{CStr, c_char, c_uchar};
use std::slice;

/// A class file that the VM shows, with the output parameters for its replacement.
pub struct ClassFileLoad<'a> {
    /// The class, if the VM redefines or retransforms one. HotSpot also passes it for a class of another name that it loads
    /// at the beginning of the redefinition.
    pub class_being_redefined: jclass,
    pub loader: jobject,
    /// The name of the class, as class files spell it; empty if JVMTI passes none.
    pub name: &'a CStr,
    data: &'a [u8],
    new_length: *mut jint,
    new_data: *mut *mut c_uchar,
}

impl ClassFileLoad<'_> {
    /// # Safety
    /// The arguments are the parameters of the callback that is running. It does not return as long as the value lives.
    pub unsafe fn new(
        class_being_redefined: jclass,
        loader: jobject,
        name: *const c_char,
        (length, data): (jint, *const c_uchar),
        (new_length, new_data): (*mut jint, *mut *mut c_uchar),
    ) -> Self {
        let length = usize::try_from(length).unwrap_or(0);
        // SAFETY: JVMTI passes NULL or a string, and the class file's bytes. They live until the callback returns.
        let (name, data) = unsafe {
            let name = if name.is_null() { c"" } else { CStr::from_ptr(name) };
            (name, slice::from_raw_parts(data, length))
        };
        Self { class_being_redefined, loader, name, data, new_length, new_data }
    }

    /// Replaces the class file with the result of `change`, if there is one.
    pub fn replace(self, jvmti: Jvmti, change: impl FnOnce(&[u8]) -> Option<Vec<u8>>) {
        if let Some((memory, length)) = change(self.data).and_then(|bytes| jvmti.copy(&bytes)) {
            // SAFETY: JVMTI passes both output parameters, and takes ownership of memory from its own Allocate.
            unsafe {
                self.new_length.write(length);
                self.new_data.write(memory);
            }
        }
    }
}

/// Defines a callback of `ClassFileLoadHook` that passes JNI and the [`ClassFileLoad`] to a function.
#[macro_export]
macro_rules! class_file_hook {
    ($visibility:vis fn $name:ident => $body:path;) => {
        $crate::callbacks! {
            $visibility fn $name(
                class: $crate::types::jclass,
                loader: $crate::types::jobject,
                name: *const std::ffi::c_char,
                _protection_domain: $crate::types::jobject,
                length: $crate::types::jint,
                data: *const u8,
                new_length: *mut $crate::types::jint,
                new_data: *mut *mut u8
            ) => |jni, class, loader, name, _, length, data, new_length, new_data| {
                let (old, new) = ((length, data), (new_length, new_data));
                // SAFETY: these are the parameters of this callback.
                $body(jni, unsafe { $crate::ClassFileLoad::new(class, loader, name, old, new) })
            };
        }
    };
}
