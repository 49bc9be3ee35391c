//! Timers on the CPU clocks of threads.
//!
//! The functions of the C library are not used: before glibc 2.34 they are in a library of their own.

use libc::{c_int, clockid_t, itimerspec, timespec};
use std::io;
use std::mem;
use std::ptr;

/// A timer that sends a signal to a thread each time that the thread has used an interval of CPU time.
pub struct CpuTimer(c_int);

impl CpuTimer {
    /// Starts a timer. It first expires when the thread has used `first` nanoseconds since it began, or at once if
    /// it already has. `value` is passed to the signal's handler.
    ///
    /// # Errors
    /// Fails if the kernel has no timer for this process, for example because of `RLIMIT_SIGPENDING` or seccomp.
    pub fn start(
        os_thread: i32,
        signal: c_int,
        value: usize,
        first: i64,
        interval: i64,
    ) -> io::Result<Self> {
        // SAFETY: all bits zero are a valid structure.
        let mut event: libc::sigevent = unsafe { mem::zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_notify_thread_id = os_thread;
        event.sigev_signo = signal;
        event.sigev_value.sival_ptr = ptr::without_provenance_mut(value);
        let mut number: c_int = 0;
        // SAFETY: both structures are local variables of the kernel's types.
        let created = unsafe {
            libc::syscall(
                libc::SYS_timer_create,
                clock_of(os_thread),
                &raw mut event,
                &raw mut number,
            )
        };
        if created != 0 {
            return Err(io::Error::last_os_error());
        }
        let timer = Self(number);
        let times = itimerspec { it_value: timespec_of(first), it_interval: timespec_of(interval) };
        let old = ptr::null_mut::<itimerspec>();
        // SAFETY: the timer exists, and the structure is a local variable.
        let set = unsafe {
            libc::syscall(
                libc::SYS_timer_settime,
                number,
                libc::TIMER_ABSTIME,
                &raw const times,
                old,
            )
        };
        if set == 0 { Ok(timer) } else { Err(io::Error::last_os_error()) }
    }
}

impl Drop for CpuTimer {
    fn drop(&mut self) {
        // SAFETY: the timer exists until now.
        unsafe { libc::syscall(libc::SYS_timer_delete, self.0) };
    }
}

/// Returns the clock that Linux gives each thread: the complement of its number above three bits,
/// in which `4` means "one thread" and `2` its scheduled time.
pub(crate) fn clock_of(os_thread: i32) -> clockid_t {
    !os_thread << 3 | 4 | 2
}

/// Converts nanoseconds. Its two numbers may have 32 bits.
fn timespec_of(nanos: i64) -> timespec {
    const SECOND: i64 = 1_000_000_000;
    // SAFETY: all bits zero are a valid structure.
    let mut time: timespec = unsafe { mem::zeroed() };
    time.tv_sec = (nanos / SECOND) as _;
    time.tv_nsec = (nanos % SECOND) as _;
    time
}

/// The part of `siginfo_t` that the kernel fills in when a timer expires.
#[repr(C)]
struct Expiration {
    signal: c_int,
    errno: c_int,
    code: c_int,
    #[cfg(target_pointer_width = "64")]
    padding: c_int,
    timer: c_int,
    overrun: c_int,
    value: usize,
}

/// Returns the value that the timer was started with, and how many times it has expired. None if no timer has sent
/// the signal.
///
/// # Safety
/// `info` is the argument of a signal handler.
pub unsafe fn expiration(info: *const libc::siginfo_t) -> Option<(usize, u32)> {
    // SAFETY: as the caller promises; a siginfo_t is larger than this part of it.
    let Expiration { code, overrun, value, .. } = unsafe { info.cast::<Expiration>().read() };
    let count = u32::try_from(overrun).unwrap_or(0).saturating_add(1);
    (code == libc::SI_TIMER).then_some((value, count))
}
