//! HotSpot's `AsyncGetCallTrace`, which returns the stack trace of the current thread in a signal handler.

use super::{internals, symbols};
use crate::platform::registers::{self, Context};
use jni_sys::{JNIEnv, jint, jmethodID};
use std::ffi::c_void;
use std::sync::OnceLock;

/// One frame, innermost first.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawFrame {
    /// The bytecode index. It is negative in a native method, and where compiled code has entered a method but not
    /// reached its first instruction.
    pub bci: jint,
    /// The method. The VM returns it only if the method already has an ID.
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

/// Returns true if the VM has the function. The first call looks it up, which is not allowed in a signal handler.
pub fn is_available() -> bool {
    FUNCTION.get_or_init(find).is_some()
}

fn find() -> Option<Function> {
    let address = internals::ASYNC_GET_CALL_TRACE.find(|| symbols::find(c"AsyncGetCallTrace"))?;
    // SAFETY: a function of this name has this type.
    Some(unsafe { std::mem::transmute::<*mut c_void, Function>(address.as_ptr()) })
}

/// The VM's error code for a thread that executes Java code in a place where no frame can be recognized.
const UNKNOWN_JAVA: jint = -5;

/// Writes the innermost frames of the current thread and returns their number, or the VM's negative error code.
///
/// The VM walks wrongly if compiled code has removed its frame, so it gets the registers from before. It does not walk
/// if compiled code has not created its frame, or in its own frameless routines, as for the target of a virtual call.
/// Then the walk begins at the caller, if the VM recognizes that.
///
/// # Safety
/// Called in a signal handler with the handler's own context, after [`is_available`]. `env` is the environment of the
/// thread.
pub unsafe fn walk(
    env: *mut JNIEnv,
    frames: &mut [RawFrame],
    context: *mut c_void,
) -> Result<usize, jint> {
    // SAFETY: the caller promises the context.
    let mut registers = unsafe { *context.cast::<Context>() };
    // SAFETY: the registers are those of the interrupted code.
    let returns = unsafe { registers::complete_frame(&mut registers) };
    // SAFETY: as the caller promises; the VM only reads the registers.
    let walked = unsafe { walk_from(env, frames, (&raw mut registers).cast()) };
    if walked != Err(UNKNOWN_JAVA) {
        return walked;
    }
    // SAFETY: the registers are those of the interrupted code.
    unsafe { registers::return_at_once(&mut registers, returns) };
    // SAFETY: as above.
    unsafe { walk_from(env, frames, (&raw mut registers).cast()) }
}

/// Calls the VM's function.
///
/// # Safety
/// The same as for [`walk`]; the registers of `context` may be those of a caller.
unsafe fn walk_from(
    env: *mut JNIEnv,
    frames: &mut [RawFrame],
    context: *mut c_void,
) -> Result<usize, jint> {
    const UNAVAILABLE: jint = jint::MIN;
    let function = FUNCTION.get().copied().flatten().ok_or(UNAVAILABLE)?;
    let mut trace = CallTrace { env, num_frames: 0, frames: frames.as_mut_ptr() };
    // SAFETY: the caller promises the context, and `frames` has space for the requested number of frames.
    unsafe { function(&mut trace, frames.len() as jint, context) };
    usize::try_from(trace.num_frames).map_err(|_| trace.num_frames)
}
