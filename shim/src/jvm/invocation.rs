//! The JavaVM's own function table, in which `GetEnv` also answers the JVMPI versions.
//!
//! The VM keeps a pointer to its invocation table in the `JavaVM` structure that everyone uses;
//! the shim puts a copy of the table there whose `GetEnv` is its own. No code is patched.

use super::caller::with_return_address;
use crate::boundary::guard;
use jni_sys::{JNI_ERR, JNI_OK, JNIInvokeInterface_, JavaVM, jint};
use std::ffi::c_void;
use std::ptr;
use std::sync::OnceLock;

/// Answers a request for a JVMPI version made by the code at `caller`: the function table, or the
/// JNI error code to return.
pub type GetInterface = fn(version: jint, caller: *const c_void) -> Result<*mut c_void, jint>;

struct Patch {
    original: JNIInvokeInterface_,
    answer: GetInterface,
}

// SAFETY: the table holds function pointers and reserved words that nobody writes.
unsafe impl Send for Patch {}
// SAFETY: as above.
unsafe impl Sync for Patch {}

static PATCH: OnceLock<Patch> = OnceLock::new();

/// Lets `answer` serve requests for JVMPI versions; idempotent.
///
/// # Safety
/// `vm` is the JVM of this process.
pub unsafe fn answer_get_env(vm: *mut JavaVM, answer: GetInterface) {
    PATCH.get_or_init(|| {
        // SAFETY: the VM's table pointer is valid; the table is plain data.
        let original = unsafe { ptr::read(*vm) };
        // SAFETY: as above.
        let mut table = unsafe { ptr::read(*vm) };
        table.v1_2.GetEnv = get_env;
        // The VM may read the pointer at any time and keeps using it until the process ends.
        // SAFETY: the JavaVM structure is writable and outlives the shim; readers on other
        // threads see one table or the other, which differ only in their GetEnv.
        unsafe { ptr::write_volatile(vm, Box::leak(Box::new(table))) };
        Patch { original, answer }
    });
}

/// Whether the version is one of JVMPI's, known or not.
fn is_jvmpi_version(version: jint) -> bool {
    version & !0xffff == 0x1000_0000
}

with_return_address! {
    fn get_env(vm: *mut JavaVM, interface: *mut *mut c_void, version: jint) -> jint => get_env_for;
}

unsafe extern "system" fn get_env_for(
    vm: *mut JavaVM,
    interface: *mut *mut c_void,
    version: jint,
    caller: *const c_void,
) -> jint {
    // The table is in place a moment before the cell is set, and only on the thread that sets it.
    let patch = PATCH.wait();
    if !is_jvmpi_version(version) {
        // SAFETY: the caller's arguments go to the function that they were meant for.
        return unsafe { (patch.original.v1_2.GetEnv)(vm, interface, version) };
    }
    if interface.is_null() {
        return JNI_ERR;
    }
    let (result, table) = match guard(Err(JNI_ERR), || (patch.answer)(version, caller)) {
        Ok(table) => (JNI_OK, table),
        Err(code) => (code, ptr::null_mut()),
    };
    // SAFETY: `interface` is not NULL, and GetEnv's contract makes it writable.
    unsafe { interface.write(table) };
    result
}
