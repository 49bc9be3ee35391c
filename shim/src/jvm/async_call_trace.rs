//! HotSpot's `AsyncGetCallTrace`: the stack of the thread that runs, in a signal handler.

use jni_sys::{JNIEnv, jint, jmethodID};
use std::ffi::{CStr, c_void};
use std::sync::OnceLock;

/// One frame, innermost first.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawFrame {
    /// The bytecode index; negative in a native method.
    pub bci: jint,
    /// The method; the VM gives it only if the method has got an ID before.
    pub method: jmethodID,
}

#[repr(C)]
struct CallTrace {
    env: *mut JNIEnv,
    num_frames: jint,
    frames: *mut RawFrame,
}

type Function = unsafe extern "C" fn(*mut CallTrace, jint, *mut c_void);

static FUNCTION: OnceLock<Option<Function>> = OnceLock::new();

/// Whether the VM has the function. Looks for it the first time, which a signal handler must not.
pub fn is_available() -> bool {
    FUNCTION.get_or_init(find).is_some()
}

fn find() -> Option<Function> {
    // SAFETY: the VM's invocation table is valid, and has had the slot since JNI 1.1.
    let inside_vm = unsafe { (**super::get().vm()).v1_2.DestroyJavaVM } as *const c_void;
    // SAFETY: Dl_info is plain data.
    let mut info = unsafe { std::mem::zeroed::<libc::Dl_info>() };
    // SAFETY: dladdr only compares the address; `info` is ours to write.
    if unsafe { libc::dladdr(inside_vm, &mut info) } == 0 {
        return None;
    }
    symbol(info.dli_fname, c"AsyncGetCallTrace").map(|address| {
        // SAFETY: a function of this name has this type.
        unsafe { std::mem::transmute::<*mut c_void, Function>(address) }
    })
}

fn symbol(library: *const std::ffi::c_char, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name comes from dladdr; the library is loaded, so none of its code runs.
    let handle = unsafe { libc::dlopen(library, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    if handle.is_null() {
        return None;
    }
    // SAFETY: the handle is valid.
    let address = unsafe { libc::dlsym(handle, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}

/// Writes the innermost frames of the thread that runs; the VM's
/// reason, a negative number, if it cannot walk it just here.
///
/// # Safety
/// Called in a signal handler with the handler's own context; [`is_available`] has been asked
/// before; `env` is the environment of the thread.
pub unsafe fn walk(
    env: *mut JNIEnv,
    frames: &mut [RawFrame],
    context: *mut c_void,
) -> Result<usize, jint> {
    const UNAVAILABLE: jint = jint::MIN;
    let function = FUNCTION.get().copied().flatten().ok_or(UNAVAILABLE)?;
    let mut trace = CallTrace { env, num_frames: 0, frames: frames.as_mut_ptr() };
    // SAFETY: the caller promises the context, and the frames have room for as many as asked for.
    unsafe { function(&mut trace, frames.len() as jint, context) };
    usize::try_from(trace.num_frames).map_err(|_| trace.num_frames)
}
