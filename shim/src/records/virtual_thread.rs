//! Virtual threads: as threads of their own (setting `virtual=own`), on their way to a carrier or from it, and the CPU time
//! of threads that share OS threads.

use jni_sys::JNIEnv;
use jvm::platform::sync::atomic::{AtomicBool, Ordering};
use jvm::virtual_env::VirtualEnv;
use std::sync::OnceLock;
use std::sync::atomic::AtomicI64;

static ARE_THREADS: OnceLock<()> = OnceLock::new();

/// Returns true if each virtual thread is a thread of its own.
#[inline]
pub fn are_threads() -> bool {
    ARE_THREADS.get().is_some()
}

/// Makes each virtual thread a thread of its own. From now on the VM reports their mounting.
pub fn make_threads() {
    let _ = ARE_THREADS.set(());
}

/// The state that only a virtual thread has.
pub struct VirtualThread {
    /// The number that `java.lang.Thread` gives it.
    pub number: i64,
    env: VirtualEnv,
}

impl VirtualThread {
    pub fn new(number: i64) -> Self {
        Self { number, env: VirtualEnv::new() }
    }

    pub fn env(&self) -> *mut JNIEnv {
        self.env.env()
    }

    /// Records that the thread runs on the carrier with this environment.
    pub fn mount(&self, env: *mut JNIEnv) {
        self.env.set_carrier(env);
    }
}

/// Shows whether a virtual thread is being mounted or unmounted on the thread.
#[derive(Default)]
pub struct Transition {
    is_under_way: AtomicBool,
    /// True if the virtual thread that is being mounted has waited for a monitor.
    resumes: AtomicBool,
}

impl Transition {
    /// Returns true while a virtual thread is being mounted or unmounted.
    pub fn is_under_way(&self) -> bool {
        self.is_under_way.load(Ordering::Relaxed)
    }

    /// Records that a transition begins or has ended.
    pub fn note(&self, begins: bool) {
        self.is_under_way.store(begins, Ordering::Relaxed);
    }

    /// Records that a virtual thread that has waited for a monitor is about to be mounted, or that it runs again.
    /// Returns true if such a mount was in progress.
    pub fn note_resumption(&self, begins: bool) -> bool {
        self.resumes.swap(begins, Ordering::Relaxed)
    }

    /// Records that no transition is in progress.
    pub fn clear(&self) {
        self.note(false);
        self.note_resumption(false);
    }
}

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
