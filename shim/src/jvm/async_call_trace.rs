//! HotSpot's `AsyncGetCallTrace`: the stack of the current thread, in a signal handler.

use super::{internals, symbols};
use jni_sys::{JNIEnv, jint, jmethodID};
use std::ffi::c_void;
use std::sync::OnceLock;

/// One frame, innermost first.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawFrame {
    /// The bytecode index. It is negative in a native method, but also where compiled code has entered
    /// a method and not come to its first instruction.
    pub bci: jint,
    /// The method; the VM gives it only if the method has an ID already.
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
    let address = internals::ASYNC_GET_CALL_TRACE.find(|| symbols::find(c"AsyncGetCallTrace"))?;
    // SAFETY: a function of this name has this type.
    Some(unsafe { std::mem::transmute::<*mut c_void, Function>(address.as_ptr()) })
}

/// Writes the innermost frames of the current thread; the VM's
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
