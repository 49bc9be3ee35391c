//! The CPU time of threads.

/// Nanoseconds of CPU time that the thread that runs has consumed.
pub fn current() -> i64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0)
}

/// Nanoseconds of CPU time that a thread of the process has consumed; None if it has ended.
pub fn of(os_thread: i32) -> Option<i64> {
    // How Linux numbers the clock of a thread: what pthread_getcpuclockid computes, without
    // looking at the thread's memory, which may be gone.
    const PER_THREAD: libc::clockid_t = 4;
    const SCHEDULER: libc::clockid_t = 2;
    read(!os_thread << 3 | PER_THREAD | SCHEDULER)
}

fn read(clock: libc::clockid_t) -> Option<i64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is ours to write.
    let result = unsafe { libc::clock_gettime(clock, &mut time) };
    (result == 0).then(|| time.tv_sec * 1_000_000_000 + time.tv_nsec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_s_clock_is_the_same_from_outside() {
        // SAFETY: gettid has no preconditions.
        let me = unsafe { libc::gettid() };
        let before = current();
        let outside = of(me).unwrap();
        assert!(before <= outside && outside <= current());
    }

    #[test]
    fn a_thread_that_is_not_there_has_no_clock() {
        assert_eq!(of(i32::MAX / 16), None);
    }
}
