//! The activity of a thread, as the kernel reports it.

use std::fs;
use std::time::Duration;

/// A thread of this process.
pub struct Progress {
    /// The path of the kernel's report.
    stat: String,
    /// The processor time that it has used.
    clock: libc::clockid_t,
}

/// The activity at one moment.
#[derive(Clone, Copy)]
pub struct Moment {
    sleeps: bool,
    used: Duration,
}

impl Progress {
    pub fn of_current_thread() -> Self {
        // Not `libc::gettid`, which the C library has only since 2.30.
        // SAFETY: gettid has no preconditions.
        let id = unsafe { libc::syscall(libc::SYS_gettid) };
        let mut clock = libc::CLOCK_THREAD_CPUTIME_ID;
        // SAFETY: the current thread lives, and the clock may be written. That fails never.
        unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &raw mut clock) };
        Self { stat: format!("/proc/self/task/{id}/stat"), clock }
    }

    /// Returns the current activity of the thread; a thread that has exited counts as asleep.
    pub fn now(&self) -> Moment {
        let stat = fs::read_to_string(&self.stat).unwrap_or_default();
        // The name, in parentheses, may contain anything; the state is behind it. A thread that waits for a disk
        // continues by itself.
        let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
        let sleeps = !matches!(state, Some('R' | 'D'));
        let mut used = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the time may be written. A clock of a thread that is gone leaves it as it is.
        unsafe { libc::clock_gettime(self.clock, &raw mut used) };
        let seconds = u64::try_from(used.tv_sec).unwrap_or(0);
        let nanos = u64::try_from(used.tv_nsec).unwrap_or(0);
        Moment { sleeps, used: Duration::from_secs(seconds) + Duration::from_nanos(nanos) }
    }
}

impl Moment {
    pub fn sleeps(&self) -> bool {
        self.sleeps
    }

    /// Returns true if the thread has slept ever since an earlier moment.
    pub fn sleeps_since(&self, before: &Self) -> bool {
        self.sleeps && before.sleeps && self.used == before.used
    }

    /// Returns true if it has computed for long. This is harmless: a replay that continues without a thread that would
    /// have arrived is only less like the recording.
    pub fn computes_since(&self, before: &Self) -> bool {
        const LONG: Duration = Duration::from_millis(250);
        self.used.saturating_sub(before.used) > LONG
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint;
    use std::sync::mpsc;
    use std::thread;

    #[test]
    fn sleeping_and_computing_threads_are_distinguished() {
        let (tell, told) = mpsc::channel();
        let (wake, woken) = mpsc::channel::<()>();
        let sleeper = thread::spawn(move || {
            tell.send(Progress::of_current_thread()).unwrap();
            _ = woken.recv();
        });
        let progress = told.recv().unwrap();
        while !progress.now().sleeps_since(&progress.now()) {
            hint::spin_loop();
        }
        drop(wake);
        sleeper.join().unwrap();

        let this = Progress::of_current_thread();
        let before = this.now();
        assert!(!this.now().sleeps_since(&before));
        while !this.now().computes_since(&before) {
            hint::spin_loop();
        }
    }
}
