//! HotSpot's `AsyncGetCallTrace`, which returns the stack trace of the current thread in a signal handler.

use super::{internals, symbols};
use jni_sys::{JNIEnv, jint, jmethodID};
use libc::ucontext_t;
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
    let mut registers = unsafe { *context.cast::<ucontext_t>() };
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

/// The registers of interrupted code.
mod registers {
    use libc::ucontext_t;

    // The kernel writes the stack pointer to both ESP and UESP. HotSpot reads UESP.
    #[cfg(target_arch = "x86")]
    use libc::{REG_EIP as NEXT, REG_UESP as STACK};
    #[cfg(target_arch = "x86_64")]
    use libc::{REG_RIP as NEXT, REG_RSP as STACK};

    /// Restores the registers of a compiled method with a complete frame, if the method has removed its frame. Returns
    /// the distance in bytes from the stack pointer to the return address if the code is a prologue or epilogue, else
    /// 0.
    ///
    /// # Safety
    /// The registers are those of interrupted code.
    #[cfg(target_arch = "x86_64")]
    pub(crate) unsafe fn complete_frame(context: &mut ucontext_t) -> usize {
        use crate::compiled_code::{AT, BEFORE, Frame, frame};
        let registers = &mut context.uc_mcontext.gregs;
        let mut code = [0; BEFORE + AT];
        // SAFETY: the caller promises that code is at this address.
        unsafe { read_around(registers[NEXT as usize] as usize, &mut code) };
        match frame(&code[..BEFORE], &code[BEFORE..]) {
            Some(Frame::Removed { bytes, size }) => {
                // The VM reads the caller's address and frame pointer, which are still on the stack: the kernel does
                // not write to the 128 bytes below the stack pointer.
                registers[STACK as usize] -= bytes as libc::greg_t;
                size
            }
            Some(Frame::Begun(bytes)) => bytes,
            None => 0,
        }
    }

    /// Returns 0: on this machine no incomplete frames are known, or the return address is in a register.
    ///
    /// # Safety
    /// None is needed.
    #[cfg(not(target_arch = "x86_64"))]
    pub(crate) unsafe fn complete_frame(_: &mut ucontext_t) -> usize {
        0
    }

    /// Reads bytes of code around an instruction, [`BEFORE`](crate::compiled_code::BEFORE) of them before it. They
    /// stay 0 if no memory is mapped there.
    ///
    /// # Safety
    /// There is an instruction at the address.
    #[cfg(target_arch = "x86_64")]
    unsafe fn read_around(next: usize, code: &mut [u8]) {
        use crate::compiled_code::BEFORE;
        const PAGE: usize = 4096;
        let start = next.wrapping_sub(BEFORE);
        if start / PAGE == (start + code.len() - 1) / PAGE {
            let bytes: *const u8 = std::ptr::with_exposed_provenance(start);
            // SAFETY: all bytes are on the page of the instruction, whose code can be read.
            unsafe { bytes.copy_to_nonoverlapping(code.as_mut_ptr(), code.len()) };
            return;
        }
        let local = libc::iovec { iov_base: code.as_mut_ptr().cast(), iov_len: code.len() };
        let remote =
            libc::iovec { iov_base: std::ptr::with_exposed_provenance_mut(start), ..local };
        // SAFETY: the kernel writes to `code`, and fails if it cannot read the memory.
        unsafe { libc::process_vm_readv(libc::getpid(), &local, 1, &remote, 1, 0) };
    }

    /// Sets the registers as after a return, with the return address `above` bytes above the stack pointer.
    ///
    /// # Safety
    /// The stack pointer is that of interrupted code, whose stack can be read from there.
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    pub(crate) unsafe fn return_at_once(context: &mut ucontext_t, above: usize) {
        let registers = &mut context.uc_mcontext.gregs;
        let stack = registers[STACK as usize] as usize + above;
        let top: *const usize = std::ptr::with_exposed_provenance(stack);
        // SAFETY: as the caller promises; the compiler of Java code need not align the stack.
        registers[NEXT as usize] = unsafe { top.read_unaligned() } as libc::greg_t;
        registers[STACK as usize] = (stack + size_of::<usize>()) as libc::greg_t;
    }

    /// Sets the registers as after a return; the return address is in a register.
    ///
    /// # Safety
    /// None is needed.
    #[cfg(target_arch = "aarch64")]
    pub(crate) unsafe fn return_at_once(context: &mut ucontext_t, _: usize) {
        const LINK: usize = 30;
        context.uc_mcontext.pc = context.uc_mcontext.regs[LINK];
    }
}

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "x86")))]
mod tests {
    use super::*;
    #[cfg(target_arch = "x86")]
    use libc::{REG_EIP, REG_ESP, REG_UESP};
    #[cfg(target_arch = "x86_64")]
    use libc::{REG_RIP as REG_EIP, REG_RSP as REG_ESP, REG_RSP as REG_UESP};

    /// Checks the registers that HotSpot reads: on 32-bit x86 the stack pointer is `UESP`.
    #[test]
    fn return_changes_the_registers_that_the_vm_reads() {
        let stack = [1_usize, 2, 3];
        let address = |place: usize| (&raw const stack[place]).expose_provenance();
        // SAFETY: all bits zero are a valid context.
        let mut context: ucontext_t = unsafe { std::mem::zeroed() };
        // The kernel writes both.
        for register in [REG_ESP, REG_UESP] {
            context.uc_mcontext.gregs[register as usize] = address(0) as libc::greg_t;
        }
        // SAFETY: the stack pointer is the address of the array, which has a word above its first.
        unsafe { registers::return_at_once(&mut context, size_of::<usize>()) };
        let register = |number: i32| context.uc_mcontext.gregs[number as usize] as usize;
        assert_eq!((register(REG_EIP), register(REG_UESP)), (2, address(2)));
    }
}
