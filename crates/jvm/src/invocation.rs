//! Makes `GetEnv` of the JavaVM's function table answer the JVMPI versions too.
//!
//! The `JavaVM` structure, which all code shares, contains a pointer to the VM's invocation table. The shim replaces
//! this pointer with one to a copy of the table with its own `GetEnv`. No code is patched.

use crate::boundary::guard;
use crate::with_return_address;
use jni_sys::{JNI_ERR, JNI_OK, JNIEnv, JNIInvokeInterface_, JavaVM, jint};
use std::ffi::c_void;
use std::ptr;
use std::sync::OnceLock;

/// Answers a request for a JVMPI version by the code at `caller`: the function table, or a JNI error code.
pub type GetInterface = fn(version: jint, caller: *const c_void) -> Result<*mut c_void, jint>;

/// Returns the environment for the code at `caller`, given the VM's environment for the current thread.
pub type ChooseEnv = fn(env: *mut JNIEnv, caller: *const c_void) -> *mut JNIEnv;

struct Patch {
    original: JNIInvokeInterface_,
    answer: GetInterface,
    choose: ChooseEnv,
}

// SAFETY: the table consists of function pointers and reserved words that are never written.
unsafe impl Send for Patch {}
// SAFETY: as above.
unsafe impl Sync for Patch {}

static PATCH: OnceLock<Patch> = OnceLock::new();

/// Makes `answer` serve requests for JVMPI versions, and `choose` those for JNI. Repeated calls have no effect.
///
/// # Safety
/// `vm` is the JVM of this process.
pub unsafe fn answer_get_env(vm: *mut JavaVM, answer: GetInterface, choose: ChooseEnv) {
    PATCH.get_or_init(|| {
        // SAFETY: the VM's table pointer is valid, and the table is plain data.
        let original = unsafe { ptr::read(*vm) };
        // SAFETY: as above.
        let mut table = unsafe { ptr::read(*vm) };
        table.v1_2.GetEnv = get_env;
        // The VM may read the pointer at any time and keeps using it until the process ends.
        // SAFETY: the JavaVM structure is writable and outlives the shim. Other threads see one table or the
        // other, which differ only in GetEnv.
        unsafe { ptr::write_volatile(vm, Box::leak(Box::new(table))) };
        Patch { original, answer, choose }
    });
}

/// Calls the VM's own `GetEnv`.
///
/// # Safety
/// The same as for `GetEnv`.
pub(crate) unsafe fn get_env_of_the_vm(
    vm: *mut JavaVM,
    interface: *mut *mut c_void,
    version: jint,
) -> jint {
    // SAFETY: the caller promises the VM, whose table has had GetEnv since JNI 1.2.
    unsafe {
        let table = PATCH.get().map_or_else(|| *vm, |patch| &raw const patch.original);
        ((*table).v1_2.GetEnv)(vm, interface, version)
    }
}

/// Returns true for a version of JNI. These are below the versions of tool interfaces.
fn is_jni_version(version: jint) -> bool {
    (0..0x1000_0000).contains(&version)
}

/// Returns true for a version of JVMPI, known or not.
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
    // The table is installed shortly before `PATCH` is set, by the thread that sets it; other threads wait here.
    let patch = PATCH.wait();
    if !is_jvmpi_version(version) {
        // SAFETY: the VM's GetEnv gets the arguments of its caller unchanged.
        let result = unsafe { (patch.original.v1_2.GetEnv)(vm, interface, version) };
        if result == JNI_OK && is_jni_version(version) {
            // SAFETY: GetEnv has just stored the environment of the current thread there.
            let env = unsafe { &mut *interface.cast::<*mut JNIEnv>() };
            *env = guard(*env, || (patch.choose)(*env, caller));
        }
        return result;
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
