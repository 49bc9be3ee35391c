//! The CPU time of threads, and of the process.
//!
//! The C library's function is not used: `faketime` and its like replace it in the process, also for these clocks.

use super::cpu_timer::clock_of;
use libc::{CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID, clockid_t, timespec};
use std::time::Duration;

/// Returns the CPU time of the current thread in nanoseconds. May be called in a signal handler.
pub fn current() -> i64 {
    read(CLOCK_THREAD_CPUTIME_ID).unwrap_or(0)
}

/// Returns the CPU time of a thread of this process in nanoseconds. None if there is no thread with
/// this number. Unlike pthreads, this needs no pointer to a thread that may have ended.
pub fn of(os_thread: i32) -> Option<i64> {
    if os_thread <= 0 { None } else { read(clock_of(os_thread)) }
}

/// Returns the CPU time of the process.
pub fn of_process() -> Option<Duration> {
    read(CLOCK_PROCESS_CPUTIME_ID).map(|nanos| Duration::from_nanos(nanos as u64))
}

fn read(clock: clockid_t) -> Option<i64> {
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is a local variable.
    let result = unsafe { libc::syscall(libc::SYS_clock_gettime, clock, &raw mut time) };
    (result == 0).then(|| nanos(&time))
}

/// Converts a time to nanoseconds. Its two numbers may have 32 bits.
fn nanos(time: &timespec) -> i64 {
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32).as_nanos() as i64
}
