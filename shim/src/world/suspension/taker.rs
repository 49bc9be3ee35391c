//! Who has JVMTI suspend a thread that a signal has stopped, as that thread sees it from its handler.

use crate::world::scheduling;
use crate::world::threads::os_thread::os_thread;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of the thread that takes over another one, above how often it had slept before it called
/// JVMTI; 0 if there is none.
///
/// Nothing tells when the VM has the request, but then the caller sleeps until the thread has stopped.
/// As long as it has only worked, or waited for a processor, the VM may not have it.
/// If it slept for another reason, a lock of the VM's, the VM may not have it either; but the thread may hold that
/// lock, so it goes on.
#[derive(Default)]
pub struct Taker(AtomicU64);

impl Taker {
    /// Takes note that the current thread is about to call JVMTI.
    pub fn enter(&self) {
        let thread = os_thread();
        let sleeps = scheduling::sleeps(thread).unwrap_or(0);
        self.0.store(u64::from(thread as u32) << 32 | u64::from(sleeps), Ordering::SeqCst);
    }

    /// Takes note that JVMTI has returned.
    pub fn leave(&self) {
        self.0.store(0, Ordering::SeqCst);
    }

    /// Whether it has slept since it called JVMTI: it waits for the thread, or for something that the thread may
    /// have to release. True also if that cannot be known, as nothing must wait for ever. May be asked in a signal
    /// handler.
    pub fn has_slept(&self) -> bool {
        let taker = self.0.load(Ordering::SeqCst);
        let (thread, sleeps) = ((taker >> 32) as i32, taker as u32);
        taker != 0 && scheduling::sleeps(thread) != Some(sleeps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::suspension::futex;
    use std::hint;
    use std::sync::atomic::AtomicBool;
    use std::thread;
    use std::time::Duration;

    #[test]
    fn who_has_no_processor_or_yields_it_has_not_slept_and_who_waits_has() {
        let taker = Taker::default();
        assert!(!taker.has_slept(), "there is none yet");
        let has_slept_working = || {
            taker.enter();
            let until = futex::now() + 20_000_000;
            while futex::now() < until {
                hint::spin_loop();
                thread::yield_now();
            }
            taker.has_slept()
        };
        // It may have to wait for a lock of the kernel's or the emulator's, but not in each of so many rounds.
        assert!((0..100).any(|_| !has_slept_working()), "it has only worked");
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                taker.enter();
                while !is_over.load(Ordering::SeqCst) {
                    thread::sleep(Duration::from_micros(10));
                }
                taker.leave();
            });
            // Nothing is asserted before the thread has been told to end: the scope waits for it.
            while !taker.has_slept() {
                thread::yield_now();
            }
            is_over.store(true, Ordering::SeqCst);
        });
    }
}
