//! The wait target of a thread, visible to the threads that wait for it.

use crate::platform::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// The wait target of a thread while it waits. Cycles of waiting threads are found by it. Only the
/// thread itself writes it.
#[derive(Default)]
pub struct WaitTarget {
    target: AtomicU64,
    /// The number of times that the thread has begun or continued to wait for another one.
    checks: AtomicU32,
}

/// A thread or raw monitor that a thread waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Awaited {
    /// The thread with this number, awaited in a `BoundedWait`.
    Thread(i32),
    /// The raw monitor with this number.
    RawMonitor(usize),
}

/// The first bit of a raw monitor's number, counted from 1. The bits below have a thread's number.
const MONITOR: u32 = 32;

impl WaitTarget {
    /// Runs `wait`, in which the thread waits for the raw monitor with this number.
    pub fn while_blocked<R>(&self, monitor: usize, wait: impl FnOnce() -> R) -> R {
        self.target.store((monitor as u64 + 1) << MONITOR, Ordering::SeqCst);
        let result = wait();
        self.clear();
        result
    }

    /// Sets the target to a thread. If two threads wait for each other, at least one sees it.
    pub fn set(&self, os_thread: i32) {
        self.checks.store(self.checks().wrapping_add(1), Ordering::Release);
        self.target.store(os_thread as u64, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// Returns a number that changes with each [`Self::set`].
    pub fn checks(&self) -> u32 {
        self.checks.load(Ordering::Acquire)
    }

    /// Records that the thread no longer waits.
    pub fn clear(&self) {
        self.target.store(0, Ordering::SeqCst);
    }

    /// Returns the wait target. None if the thread does not wait, or waits for something unknown.
    pub fn awaited(&self) -> Option<Awaited> {
        match self.target.load(Ordering::SeqCst) {
            0 => None,
            thread if thread >> MONITOR == 0 => Some(Awaited::Thread(thread as i32)),
            monitor => Some(Awaited::RawMonitor((monitor >> MONITOR) as usize - 1)),
        }
    }
}
