//! Where a signal has interrupted a thread.

use libc::{c_void, ucontext_t};

/// Whether it was in a system call, which has just returned or is about to be made again.
///
/// # Safety
/// `context` is what the system has given to the signal handler that calls this.
pub unsafe fn is_in_system_call(context: *mut c_void) -> bool {
    // SAFETY: the caller promises the context.
    let next = unsafe { next_instruction(&*context.cast::<ucontext_t>()) };
    let length = SYSTEM_CALL.len();
    let is_system_call = |address: usize| {
        // Another page may not be there to be read.
        let is_on_same_page = address / PAGE == next / PAGE;
        let at_end = (address + length - 1) / PAGE == next / PAGE;
        is_on_same_page && at_end && {
            let code: *const [u8; SYSTEM_CALL.len()] = std::ptr::with_exposed_provenance(address);
            // SAFETY: the thread executes code on this page.
            unsafe { code.read_unaligned() == SYSTEM_CALL }
        }
    };
    is_system_call(next) || is_system_call(next.wrapping_sub(length))
}

/// No page is smaller.
const PAGE: usize = 4096;

#[cfg(target_arch = "x86_64")]
const SYSTEM_CALL: [u8; 2] = [0x0f, 0x05];

#[cfg(target_arch = "x86_64")]
fn next_instruction(context: &ucontext_t) -> usize {
    context.uc_mcontext.gregs[libc::REG_RIP as usize] as usize
}

#[cfg(target_arch = "aarch64")]
const SYSTEM_CALL: [u8; 4] = [0x01, 0x00, 0x00, 0xd4];

#[cfg(target_arch = "aarch64")]
fn next_instruction(context: &ucontext_t) -> usize {
    context.uc_mcontext.pc as usize
}
