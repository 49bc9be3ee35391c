//! The signal that has a thread take its own call trace.

use super::sampling;
use crate::jvm::internals;
use libc::{c_int, c_void, siginfo_t};
use std::mem::{self, MaybeUninit};
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};

/// The signal's number, 0 while there is none.
static NUMBER: AtomicI32 = AtomicI32::new(0);

/// True once the handler is installed.
pub fn is_installed() -> bool {
    NUMBER.load(Ordering::Acquire) != 0
}

/// Installs the handler for a real-time signal that is not in use; false if all are.
pub fn install() -> bool {
    // The JDK interrupts blocking I/O with SIGRTMAX-2, which it installs only later.
    let candidates = (libc::SIGRTMIN()..=libc::SIGRTMAX() - 3).rev();
    let take_one = || candidates.into_iter().find(|number| is_unused(*number) && take(*number));
    let Some(number) = internals::SIGNAL.find(take_one) else { return false };
    NUMBER.store(number, Ordering::Release);
    true
}

fn is_unused(number: c_int) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: the structure is ours to write.
    let result = unsafe { libc::sigaction(number, ptr::null(), action.as_mut_ptr()) };
    // SAFETY: all bits zero are a valid structure, and the kernel filled it in.
    result == 0 && unsafe { action.assume_init() }.sa_sigaction == libc::SIG_DFL
}

fn take(number: c_int) -> bool {
    // SAFETY: all bits zero are a valid structure: no flags, no signals blocked.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    action.sa_sigaction = handle as *const () as libc::sighandler_t;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
    // SAFETY: the handler does only what is allowed in one, see `sampling::in_handler`.
    unsafe { libc::sigaction(number, &action, ptr::null_mut()) == 0 }
}

/// Has a thread of this process run [`sampling::in_handler`] before any more code of its own; false if there is no such
/// thread, or too many signals are pending.
pub fn send(os_thread: i32) -> bool {
    let number = NUMBER.load(Ordering::Acquire);
    // SAFETY: neither call takes a pointer.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), os_thread, number) == 0 }
}

/// The handler. Whoever sent the signal, all that the handler looks at belongs to the current thread.
unsafe extern "C" fn handle(_: c_int, _: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: each thread has its own errno.
    let errno = unsafe { *libc::__errno_location() };
    // SAFETY: the kernel passes the context.
    unsafe { sampling::in_handler(context) };
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}
