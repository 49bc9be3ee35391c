//! What a thread does, as the kernel tells.

use std::fs;

/// A thread of this process.
pub struct Progress {
    /// Where the kernel tells of it.
    stat: String,
}

/// What it did at one moment.
#[derive(Clone, Copy)]
pub struct Moment {
    sleeps: bool,
    /// The processor time that it had used, in ticks of 10 ms.
    ticks: u64,
}

impl Progress {
    pub fn of_current_thread() -> Self {
        // Not `libc::gettid`, which the C library has only since 2.30.
        // SAFETY: gettid has no preconditions.
        let id = unsafe { libc::syscall(libc::SYS_gettid) };
        Self { stat: format!("/proc/self/task/{id}/stat") }
    }

    /// What the thread does now; one that is gone sleeps.
    pub fn now(&self) -> Moment {
        let stat = fs::read_to_string(&self.stat).unwrap_or_default();
        // The name, in parentheses, may contain anything.
        let mut fields = stat.rsplit(')').next().unwrap_or_default().split_ascii_whitespace();
        let state = fields.next();
        // utime and stime are the 14th and 15th field, and the state is the third.
        let ticks = fields.skip(10).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
        Moment { sleeps: !matches!(state, Some("R")), ticks }
    }
}

// Neither need be certain: a replay that goes on without a thread that would have gone on by itself is only less
// like the recording.
impl Moment {
    /// Whether the thread seems to have slept since an earlier moment.
    pub fn sleeps_since(&self, before: &Self) -> bool {
        self.sleeps && before.sleeps && self.ticks == before.ticks
    }

    /// Whether it has computed for long.
    pub fn computes_since(&self, before: &Self) -> bool {
        const LONG: u64 = 25;
        self.ticks.saturating_sub(before.ticks) > LONG
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint;
    use std::sync::mpsc;
    use std::thread;

    #[test]
    fn who_sleeps_and_who_computes_for_long_is_told() {
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
