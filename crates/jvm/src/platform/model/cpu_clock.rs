//! The CPU time of threads.

use super::machine;

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
