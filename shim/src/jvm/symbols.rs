//! Functions that the JVM's library exports besides those of JNI and JVMTI.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::NonNull;

/// The address of a function of the JVM's library, None if it exports none such.
pub fn find(name: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: the VM's invocation table is valid, and has had the slot since JNI 1.1.
    let inside_vm = unsafe { (**super::get().vm()).v1_2.DestroyJavaVM } as *const c_void;
    // SAFETY: Dl_info is plain data.
    let mut info = unsafe { std::mem::zeroed::<libc::Dl_info>() };
    // SAFETY: dladdr only compares the address; `info` is ours to write.
    let found = unsafe { libc::dladdr(inside_vm, &mut info) } != 0;
    found.then(|| symbol(info.dli_fname, name)).flatten()
}

fn symbol(library: *const c_char, name: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: the name comes from dladdr; the library is loaded, so none of its code runs.
    let handle = unsafe { libc::dlopen(library, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    if handle.is_null() {
        return None;
    }
    // SAFETY: the handle is valid.
    NonNull::new(unsafe { libc::dlsym(handle, name.as_ptr()) })
}
