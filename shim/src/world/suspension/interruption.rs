//! What a signal has interrupted: a system call or other code.

use libc::{c_void, ucontext_t};

/// Whether the thread was in a system call, which has just returned or is about to be restarted.
///
/// # Safety
/// `context` is what the kernel has passed to the signal handler that calls this.
pub unsafe fn is_in_system_call(context: *mut c_void) -> bool {
    // SAFETY: the caller promises the context.
    let next = unsafe { next_instruction(&*context.cast::<ucontext_t>()) };
    let length = SYSTEM_CALL.len();
    let is_system_call = |address: usize| {
        // Another page may not be readable.
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

/// `int 0x80`, which stands behind `sysenter` and `syscall` too in the code that Linux gives to programs.
#[cfg(target_arch = "x86")]
const SYSTEM_CALL: [u8; 2] = [0xcd, 0x80];

#[cfg(target_arch = "x86")]
fn next_instruction(context: &ucontext_t) -> usize {
    context.uc_mcontext.gregs[libc::REG_EIP as usize] as usize
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::scheduling;
    use crate::world::threads::os_thread::os_thread;
    use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
    use std::{mem, ptr, thread};

    const NOT_SEEN: i32 = -1;
    static SEEN: AtomicI32 = AtomicI32::new(NOT_SEEN);

    extern "C" fn look(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
        // SAFETY: this is the handler.
        SEEN.store(unsafe { is_in_system_call(context) }.into(), Ordering::SeqCst);
    }

    /// What a handler sees of a thread that runs `body`, once it has come there.
    fn interrupt(body: impl FnOnce() + Send, is_there: impl Fn(i32) -> bool) -> bool {
        SEEN.store(NOT_SEEN, Ordering::SeqCst);
        thread::scope(|scope| {
            let (sender, receiver) = std::sync::mpsc::channel();
            scope.spawn(move || {
                // SAFETY: pthread_self has no preconditions.
                sender.send((unsafe { libc::pthread_self() }, os_thread())).unwrap();
                body();
            });
            let (thread, os_thread) = receiver.recv().unwrap();
            while !is_there(os_thread) {
                thread::yield_now();
            }
            // SAFETY: the thread runs until the signal has come.
            assert_eq!(unsafe { libc::pthread_kill(thread, libc::SIGRTMIN()) }, 0);
        });
        match SEEN.load(Ordering::SeqCst) {
            NOT_SEEN => panic!("the signal has not come"),
            seen => seen != 0,
        }
    }

    #[test]
    fn a_thread_that_sleeps_is_in_a_system_call_and_one_that_computes_is_not() {
        // SAFETY: all bits zero are a valid structure.
        let mut action: libc::sigaction = unsafe { mem::zeroed() };
        action.sa_sigaction = look as *const () as libc::sighandler_t;
        action.sa_flags = libc::SA_SIGINFO;
        // SAFETY: the handler only reads its context and stores a number.
        assert_eq!(unsafe { libc::sigaction(libc::SIGRTMIN(), &action, ptr::null_mut()) }, 0);

        // SAFETY: no pointers.
        let sleeps = || unsafe {
            libc::poll(ptr::null_mut(), 0, -1);
        };
        assert!(interrupt(sleeps, scheduling::is_asleep));
        let is_computing = AtomicBool::new(false);
        let computes = || {
            while SEEN.load(Ordering::SeqCst) == NOT_SEEN {
                is_computing.store(true, Ordering::SeqCst);
            }
        };
        assert!(!interrupt(computes, |_| is_computing.load(Ordering::SeqCst)));
    }
}
