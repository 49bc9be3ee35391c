//! The signal that stops threads.

use super::handler;
use crate::jvm::internals;
use crate::world::threads::Thread;
use libc::{c_int, c_void, pid_t, siginfo_t, uid_t};
use std::mem::{self, MaybeUninit};
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};

/// The signal's number, 0 while there is none.
static NUMBER: AtomicI32 = AtomicI32::new(0);
/// This process, the sender of the shim's own signals.
static PROCESS: AtomicI32 = AtomicI32::new(0);

/// Whether threads can be stopped by a signal.
pub fn is_installed() -> bool {
    NUMBER.load(Ordering::Acquire) != 0
}

/// Takes a real-time signal that is not in use; false if all are.
pub fn install() -> bool {
    // SAFETY: getpid has no preconditions.
    PROCESS.store(unsafe { libc::getpid() }, Ordering::Release);
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
    // SAFETY: the handler does only what is allowed in one, see `handler::in_handler`.
    unsafe { libc::sigaction(number, &action, ptr::null_mut()) == 0 }
}

/// The beginning of `siginfo_t` as Linux lays it out for a signal that a process has sent: the `libc` crate's
/// lets these fields be read, but not written.
#[repr(C)]
struct Info {
    number: c_int,
    errno: c_int,
    code: c_int,
    sent: Sent,
}

/// What the sender tells. It is aligned as a pointer is.
#[repr(C)]
struct Sent {
    process: pid_t,
    user: uid_t,
    thread: *const Thread,
}

const _: () = assert!(
    size_of::<Info>() <= size_of::<siginfo_t>() && align_of::<Info>() == align_of::<siginfo_t>()
);

/// Makes a thread run [`handler::in_handler`] before any more code of its own; false if it cannot be
/// reached.
///
/// # Safety
/// The record lives until the signal has arrived or the thread is gone.
pub unsafe fn send(thread: &Thread) -> bool {
    let number = NUMBER.load(Ordering::Acquire);
    let process = PROCESS.load(Ordering::Relaxed);
    let sent = Sent { process, user: 0, thread };
    let mut info = MaybeUninit::<siginfo_t>::zeroed();
    let beginning = Info { number, errno: 0, code: libc::SI_QUEUE, sent };
    // SAFETY: there is room for it; the kernel copies the structure.
    unsafe {
        info.as_mut_ptr().cast::<Info>().write(beginning);
        libc::syscall(
            libc::SYS_rt_tgsigqueueinfo,
            process,
            thread.os_thread(),
            number,
            info.as_ptr(),
        ) == 0
    }
}

unsafe extern "C" fn handle(_: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes the information, and each thread has its own errno.
    let (info, errno) = unsafe { (&*info.cast::<Info>(), *libc::__errno_location()) };
    let ours = info.code == libc::SI_QUEUE && info.sent.process == PROCESS.load(Ordering::Relaxed);
    if ours && !info.sent.thread.is_null() {
        // SAFETY: `send` put it there, and its caller keeps it alive.
        unsafe { handler::in_handler(&*info.sent.thread, context) };
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// Whether the process has a thread with this number.
pub fn exists(os_thread: i32) -> bool {
    // SAFETY: signal 0 only asks.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), os_thread, 0) == 0 }
}
