//! HotSpot's `AsyncGetCallTrace`: the stack of the current thread, in a signal handler.

use super::{internals, symbols};
use jni_sys::{JNIEnv, jint, jmethodID};
use libc::ucontext_t;
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

/// The VM's reason if the thread executes Java code, but where no frame can be recognized.
const UNKNOWN_JAVA: jint = -5;

/// Writes the innermost frames of the current thread; the VM's
/// reason, a negative number, if it cannot walk it just here.
///
/// The VM does not recognize the frame of a routine of its own that has none, as those that look up what a virtual call
/// calls. Then the walk begins where that returns to, if the VM recognizes this.
///
/// # Safety
/// Called in a signal handler with the handler's own context; [`is_available`] has been asked
/// before; `env` is the environment of the thread.
pub unsafe fn walk(
    env: *mut JNIEnv,
    frames: &mut [RawFrame],
    context: *mut c_void,
) -> Result<usize, jint> {
    // SAFETY: as the caller promises.
    let walked = unsafe { walk_from(env, frames, context) };
    if walked != Err(UNKNOWN_JAVA) {
        return walked;
    }
    // SAFETY: the caller promises the context.
    let mut caller = unsafe { *context.cast::<ucontext_t>() };
    // SAFETY: they are the registers of the code that was interrupted.
    unsafe { registers::return_at_once(&mut caller) };
    // SAFETY: as the caller promises; the VM only reads the registers.
    unsafe { walk_from(env, frames, (&raw mut caller).cast()) }
}

/// # Safety
/// As for [`walk`]; the registers of `context` may be those of a caller.
unsafe fn walk_from(
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

/// The registers of interrupted code.
mod registers {
    use libc::ucontext_t;

    #[cfg(target_arch = "x86")]
    use libc::{REG_EIP as NEXT, REG_ESP as STACK};
    #[cfg(target_arch = "x86_64")]
    use libc::{REG_RIP as NEXT, REG_RSP as STACK};

    /// Makes the registers those after a return, as if the code had not put anything on the stack since it
    /// was called.
    ///
    /// # Safety
    /// The stack pointer is that of code that was interrupted, whose stack can be read from there.
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    pub unsafe fn return_at_once(context: &mut ucontext_t) {
        let registers = &mut context.uc_mcontext.gregs;
        let stack = registers[STACK as usize] as usize;
        let top: *const usize = std::ptr::with_exposed_provenance(stack);
        // SAFETY: as the caller promises; the compiler of Java code need not align it.
        registers[NEXT as usize] = unsafe { top.read_unaligned() } as libc::greg_t;
        registers[STACK as usize] = (stack + size_of::<usize>()) as libc::greg_t;
    }

    /// As above; the return address is in a register.
    ///
    /// # Safety
    /// None is needed.
    #[cfg(target_arch = "aarch64")]
    pub unsafe fn return_at_once(context: &mut ucontext_t) {
        const LINK: usize = 30;
        context.uc_mcontext.pc = context.uc_mcontext.regs[LINK];
    }
}
