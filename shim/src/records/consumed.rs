//! The CPU time of a thread that shares OS threads with others: a virtual thread, or its carrier.

use std::sync::atomic::{AtomicI64, Ordering};

/// The bit of [`Consumed`] that is set while the thread runs on an OS thread.
const RUNS: i64 = 1;

/// The nanoseconds of CPU time that a thread has consumed on the OS threads that it has left, times 2, and
/// [`RUNS`]. While it runs on one, the CPU time that the OS thread had consumed before is subtracted: the sum of
/// this number and the OS thread's clock is the thread's CPU time.
///
/// Only the OS thread that the thread runs on changes it.
pub struct Consumed(AtomicI64);

impl Consumed {
    /// Returns the state of a thread that has run on one OS thread since that began.
    pub fn of_platform_thread() -> Self {
        Self(AtomicI64::new(RUNS))
    }

    /// Returns the state of a thread that has not run yet.
    pub fn of_virtual_thread() -> Self {
        Self(AtomicI64::new(0))
    }

    /// Records that the thread now runs on an OS thread that has used `clock` nanoseconds.
    pub fn begin(&self, clock: i64) {
        let word = self.0.load(Ordering::SeqCst);
        if word & RUNS == 0 {
            self.0.store(((word >> 1) - clock) << 1 | RUNS, Ordering::SeqCst);
        }
    }

    /// Records that the thread leaves its OS thread, which has used `clock` nanoseconds.
    pub fn end(&self, clock: i64) {
        let word = self.0.load(Ordering::SeqCst);
        if word & RUNS != 0 {
            self.0.store(((word >> 1) + clock) << 1, Ordering::SeqCst);
        }
    }

    /// Returns true while the thread runs on an OS thread.
    pub fn is_running(&self) -> bool {
        self.0.load(Ordering::SeqCst) & RUNS != 0
    }

    /// Returns the thread's CPU time in nanoseconds. `clock` reads the clock of its OS thread; if it returns
    /// None, so does this.
    pub fn time(&self, clock: impl Fn() -> Option<i64>) -> Option<i64> {
        loop {
            let word = self.0.load(Ordering::SeqCst);
            if word & RUNS == 0 {
                return Some(word >> 1);
            }
            let time = clock();
            // Otherwise the thread has left the OS thread meanwhile.
            if self.0.load(Ordering::SeqCst) == word {
                return Some((word >> 1) + time?);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_carrier_and_virtual_thread_add_up_to_the_clock() {
        let (carrier, thread) = (Consumed::of_platform_thread(), Consumed::of_virtual_thread());
        let both = |clock: i64| [&carrier, &thread].map(|c| c.time(|| Some(clock)).unwrap());
        assert_eq!(both(70), [70, 0]);
        carrier.end(100);
        thread.begin(100);
        assert_eq!(both(130), [100, 30]);
        thread.end(150);
        carrier.begin(150);
        assert_eq!(both(155), [105, 50]);
        // On another carrier, which had consumed 1000 before.
        thread.begin(1000);
        assert_eq!(thread.time(|| Some(1007)), Some(57));
        assert_eq!(thread.time(|| None), None);
    }
}
