//! The VM that the agent sees.

use super::player::Player;
use super::table;
use jni_sys::{JNI_EDETACHED, JNI_ERR, JNI_EVERSION, JNI_OK, JavaVM, jint};
use jvmpi_sys::{JVMPI_VERSION_1, JVMPI_VERSION_1_1, JVMPI_VERSION_1_2};
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::Ordering;

/// JNIInvokeInterface.
#[repr(C)]
struct Invoke {
    reserved: [usize; 3],
    destroy_java_vm: extern "C" fn(*mut JavaVM) -> jint,
    attach_current_thread: extern "C" fn(*mut JavaVM, *mut *mut c_void, *mut c_void) -> jint,
    detach_current_thread: extern "C" fn(*mut JavaVM) -> jint,
    get_env: extern "C" fn(*mut JavaVM, *mut *mut c_void, jint) -> jint,
    attach_current_thread_as_daemon:
        extern "C" fn(*mut JavaVM, *mut *mut c_void, *mut c_void) -> jint,
}

static INVOKE: Invoke = Invoke {
    reserved: [0; 3],
    destroy_java_vm: refuse,
    attach_current_thread: attach,
    detach_current_thread: detach,
    get_env,
    attach_current_thread_as_daemon: attach,
};

/// The structure that a `JavaVM *` points to.
struct Vm(#[expect(dead_code, reason = "agents look at it")] &'static Invoke);

/// Returns the VM.
pub fn java_vm() -> *mut JavaVM {
    static VM: Vm = Vm(&INVOKE);
    ptr::from_ref(&VM).cast_mut().cast()
}

extern "C" fn refuse(_: *mut JavaVM) -> jint {
    JNI_ERR
}

extern "C" fn get_env(_: *mut JavaVM, place: *mut *mut c_void, version: jint) -> jint {
    let (found, result): (*mut c_void, _) = match version {
        JVMPI_VERSION_1 | JVMPI_VERSION_1_1 | JVMPI_VERSION_1_2 => {
            let table = table::replay().map(|replay| replay.table.load(Ordering::Relaxed));
            (table.unwrap_or_default().cast(), JNI_OK)
        }
        // The versions of JNI; other interfaces have higher numbers.
        0x0001_0000..=0x0fff_ffff => match Player::current() {
            Some(player) => (player.current_env().pointer().cast(), JNI_OK),
            None => (ptr::null_mut(), JNI_EDETACHED),
        },
        _ => (ptr::null_mut(), JNI_EVERSION),
    };
    // SAFETY: the caller passes a place for it.
    unsafe { place.write(found) };
    result
}

/// Only threads of the recording can be attached, and they are.
extern "C" fn attach(_: *mut JavaVM, place: *mut *mut c_void, _: *mut c_void) -> jint {
    let Some(player) = Player::current() else { return JNI_ERR };
    // SAFETY: the caller passes a place for it.
    unsafe { place.write(player.current_env().pointer().cast()) };
    JNI_OK
}

extern "C" fn detach(_: *mut JavaVM) -> jint {
    JNI_OK
}
