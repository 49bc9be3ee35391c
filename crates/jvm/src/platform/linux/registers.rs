//! The registers of interrupted code.

pub use libc::ucontext_t as Context;

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
pub unsafe fn complete_frame(context: &mut Context) -> usize {
    use super::compiled_code::{AT, BEFORE, Frame, frame};
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
pub unsafe fn complete_frame(_: &mut Context) -> usize {
    0
}

/// Reads bytes of code around an instruction, [`BEFORE`](super::compiled_code::BEFORE) of them before it. They
/// stay 0 if no memory is mapped there.
///
/// # Safety
/// There is an instruction at the address.
#[cfg(target_arch = "x86_64")]
unsafe fn read_around(next: usize, code: &mut [u8]) {
    use super::compiled_code::BEFORE;
    const PAGE: usize = 4096;
    let start = next.wrapping_sub(BEFORE);
    if start / PAGE == (start + code.len() - 1) / PAGE {
        let bytes: *const u8 = std::ptr::with_exposed_provenance(start);
        // SAFETY: all bytes are on the page of the instruction, whose code can be read.
        unsafe { bytes.copy_to_nonoverlapping(code.as_mut_ptr(), code.len()) };
        return;
    }
    let local = libc::iovec { iov_base: code.as_mut_ptr().cast(), iov_len: code.len() };
    let remote = libc::iovec { iov_base: std::ptr::with_exposed_provenance_mut(start), ..local };
    // SAFETY: the kernel writes to `code`, and fails if it cannot read the memory.
    unsafe { libc::process_vm_readv(libc::getpid(), &local, 1, &remote, 1, 0) };
}

/// Sets the registers as after a return, with the return address `above` bytes above the stack pointer.
///
/// # Safety
/// The stack pointer is that of interrupted code, whose stack can be read from there.
#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
pub unsafe fn return_at_once(context: &mut Context, above: usize) {
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
pub unsafe fn return_at_once(context: &mut Context, _: usize) {
    const LINK: usize = 30;
    context.uc_mcontext.pc = context.uc_mcontext.regs[LINK];
}

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "x86")))]
mod tests {
    use super::*;

    #[test]
    fn return_takes_the_address_from_the_stack() {
        let stack = [1_usize, 2, 3];
        let address = |place: usize| (&raw const stack[place]).expose_provenance();
        // SAFETY: all bits zero are a valid context.
        let mut context: Context = unsafe { std::mem::zeroed() };
        context.uc_mcontext.gregs[STACK as usize] = address(0) as libc::greg_t;
        // SAFETY: the stack pointer is the address of the array, which has a word above its first.
        unsafe { return_at_once(&mut context, size_of::<usize>()) };
        let register = |number: i32| context.uc_mcontext.gregs[number as usize] as usize;
        assert_eq!((register(NEXT), register(STACK)), (2, address(2)));
    }
}
