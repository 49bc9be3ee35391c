//! The signal that makes a thread take its own call trace, on request or when a timer expires.

use super::cpu_timer;
use crate::internals;
use crate::platform::os_thread;
pub use crate::platform::types::{Action, Cause};
use libc::{c_int, c_void, siginfo_t};
use std::fs;
use std::mem::{self, MaybeUninit};
use std::ops::RangeInclusive;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering};

/// The signal's number, 0 while there is none.
static NUMBER: AtomicI32 = AtomicI32::new(0);

/// Returns true once the handler is installed.
pub fn is_installed() -> bool {
    number().is_some()
}

/// Returns the signal's number, if the handler is installed.
pub fn number() -> Option<c_int> {
    Some(NUMBER.load(Ordering::Acquire)).filter(|number| *number != 0)
}

static ACTION: OnceLock<Action> = OnceLock::new();

/// Installs the handler, which runs `action`, for an unused real-time signal. Returns false if all are in use.
pub fn install(action: Action) -> bool {
    ACTION.get_or_init(|| action);
    let take_one = || {
        let blocked = blocked();
        let is_free = |number: &c_int| blocked & bit(*number) == 0 && is_unused(*number);
        candidates().rev().find(|number| is_free(number) && take(*number))
    };
    let Some(number) = internals::SIGNAL.find(take_one) else { return false };
    NUMBER.store(number, Ordering::Release);
    true
}

/// Returns the usable real-time signals. The JDK interrupts blocking I/O with SIGRTMAX-2, which it installs later.
fn candidates() -> RangeInclusive<c_int> {
    libc::SIGRTMIN()..=libc::SIGRTMAX() - 3
}

/// Returns the signal's bit in a mask of the kernel.
fn bit(number: c_int) -> u64 {
    1 << (number - 1)
}

/// Returns the signals that threads of this process have blocked. Code that waits for a signal with sigwaitinfo or
/// signalfd keeps its default action and blocks it in all threads. A thread that blocks all candidates, like some of
/// the shim's own, waits for none of them.
fn blocked() -> u64 {
    let all = candidates().fold(0, |all, number| all | bit(number));
    let masks = os_thread::all().filter_map(|thread| {
        let status = fs::read_to_string(format!("/proc/self/task/{thread}/status")).ok()?;
        let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:"))?;
        u64::from_str_radix(mask.trim(), 16).ok()
    });
    masks.filter(|mask| mask & all != all).fold(0, |blocked, mask| blocked | mask)
}

fn is_unused(number: c_int) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: the structure is a local variable.
    let result = unsafe { libc::sigaction(number, ptr::null(), action.as_mut_ptr()) };
    // SAFETY: a zeroed structure is valid, and the kernel filled it in.
    result == 0 && unsafe { action.assume_init() }.sa_sigaction == libc::SIG_DFL
}

fn take(number: c_int) -> bool {
    // SAFETY: a zeroed structure is valid: no flags, no signals blocked.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    action.sa_sigaction = handle as *const () as libc::sighandler_t;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
    // SAFETY: the handler, including its `Action`, uses only functions that are allowed in a signal handler.
    unsafe { libc::sigaction(number, &action, ptr::null_mut()) == 0 }
}

/// Makes a thread of this process run the [`Action`] before any more code of its own. Returns false if there is no such
/// thread, or if too many signals are pending.
pub fn send(os_thread: i32) -> bool {
    let number = NUMBER.load(Ordering::Acquire);
    // SAFETY: neither call takes a pointer.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), os_thread, number) == 0 }
}

/// Handles the signal. Any process may have sent it, so the handler reads only data of the current thread.
unsafe extern "C" fn handle(_: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: each thread has its own errno.
    let errno = unsafe { *libc::__errno_location() };
    if let Some(action) = ACTION.get() {
        // SAFETY: the kernel passes the information.
        let expiration = unsafe { cpu_timer::expiration(info) };
        let cause = expiration.map_or(Cause::Request, |(value, count)| Cause::Timer(value, count));
        // SAFETY: the kernel passes the context.
        unsafe { action(cause, context) };
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// Blocks all signals in this thread while `f` runs. A thread that `f` starts has them blocked from the start.
pub fn while_blocked<R>(f: impl FnOnce() -> R) -> R {
    // SAFETY: the sets are local variables, for which all bits zero are valid.
    let before = unsafe {
        let (mut all, mut before) = (mem::zeroed(), mem::zeroed());
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        before
    };
    let result = f();
    // SAFETY: as above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut()) };
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::thread;

    #[test]
    fn signal_that_a_thread_waits_for_is_not_free() {
        if std::env::var_os("JVMPI_EMULATOR").is_some() {
            return println!("skipped: an emulator does not show which signals a thread blocks");
        }
        let awaited = *candidates().start();
        let (started, starts) = channel();
        let (end, ends) = channel::<()>();
        let block = move |signals: &[c_int]| {
            // SAFETY: a zeroed set is valid, and `set` is a local variable.
            unsafe {
                let mut set: libc::sigset_t = mem::zeroed();
                signals.iter().for_each(|number| _ = libc::sigaddset(&raw mut set, *number));
                libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, ptr::null_mut());
            }
        };
        let waiting = thread::spawn({
            let started = started.clone();
            move || {
                block(&[awaited]);
                started.send(()).unwrap();
                ends.recv()
            }
        });
        let (end_of_deaf, ends_of_deaf) = channel::<()>();
        let deaf = thread::spawn(move || {
            block(&candidates().collect::<Vec<_>>());
            started.send(()).unwrap();
            ends_of_deaf.recv()
        });
        starts.recv().unwrap();
        starts.recv().unwrap();
        let others = blocked() & !bit(awaited);
        assert_ne!(blocked() & bit(awaited), 0);
        assert!(candidates().any(|number| others & bit(number) == 0), "{others:x}");
        drop((end, end_of_deaf));
        _ = (waiting.join().unwrap(), deaf.join().unwrap());
        assert_eq!(blocked() & bit(awaited), 0);
    }
}
