//! The CPU time of threads.

use super::machine;
use libc::timespec;
use std::time::Duration;

/// Nanoseconds of CPU time that the current thread has consumed.
pub fn current() -> i64 {
    of(machine::number()).unwrap_or(0)
}

/// Nanoseconds of CPU time that a thread has consumed, None if there is no thread with this number.
pub fn of(os_thread: i32) -> Option<i64> {
    // A system call is a step.
    machine::step();
    machine::cpu_time(os_thread).map(|time| time.as_nanos() as i64)
}

/// Returns a time as nanoseconds.
#[allow(dead_code, reason = "the code that needs it is no part of a model")]
pub fn nanos(time: &timespec) -> i64 {
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32).as_nanos() as i64
}
