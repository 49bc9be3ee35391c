//! The parameters of `ClassFileLoadHook` callbacks.

use super::jvmti::Jvmti;
use jni_sys::jint;
use std::ffi::c_uchar;
use std::slice;

/// The class file of a callback, and the output parameters for its replacement.
pub struct ClassFileHook {
    pub class_data_len: jint,
    pub class_data: *const c_uchar,
    pub new_class_data_len: *mut jint,
    pub new_class_data: *mut *mut c_uchar,
}

impl ClassFileHook {
    /// Replaces the class file with the result of `change`, if there is one.
    ///
    /// # Safety
    /// The fields are the parameters of the callback that is running.
    pub unsafe fn replace(self, jvmti: Jvmti, change: impl FnOnce(&[u8]) -> Option<Vec<u8>>) {
        let length = usize::try_from(self.class_data_len).unwrap_or(0);
        // SAFETY: JVMTI passes the class file's bytes, which live until the callback returns.
        let original = unsafe { slice::from_raw_parts(self.class_data, length) };
        if let Some((memory, length)) = change(original).and_then(|bytes| jvmti.copy(&bytes)) {
            // SAFETY: JVMTI passes both output parameters, and takes ownership of memory from its own Allocate.
            unsafe {
                self.new_class_data_len.write(length);
                self.new_class_data.write(memory);
            }
        }
    }
}
