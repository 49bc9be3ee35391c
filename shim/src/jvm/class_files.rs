//! What the callbacks of `ClassFileLoadHook` are given, and give back.

use super::jvmti::Jvmti;
use jni_sys::jint;
use std::ffi::c_uchar;
use std::slice;

/// The class file that a callback is shown, and the places where it may put another one.
pub struct ClassFileHook {
    pub class_data_len: jint,
    pub class_data: *const c_uchar,
    pub new_class_data_len: *mut jint,
    pub new_class_data: *mut *mut c_uchar,
}

impl ClassFileHook {
    /// Gives the VM what `change` makes of the class file, if it makes anything of it.
    ///
    /// # Safety
    /// The parameters are those of the callback that runs.
    pub unsafe fn replace(self, jvmti: Jvmti, change: impl FnOnce(&[u8]) -> Option<Vec<u8>>) {
        let length = usize::try_from(self.class_data_len).unwrap_or(0);
        // SAFETY: JVMTI passes the class file's bytes, which live until the callback returns.
        let original = unsafe { slice::from_raw_parts(self.class_data, length) };
        if let Some((memory, length)) = change(original).and_then(|bytes| jvmti.copy(&bytes)) {
            // SAFETY: JVMTI passes both places to be written, and takes over memory that its own
            // Allocate returned.
            unsafe {
                self.new_class_data_len.write(length);
                self.new_class_data.write(memory);
            }
        }
    }
}
