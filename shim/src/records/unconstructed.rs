//! Objects that a thread has allocated without running a constructor.

use std::sync::atomic::{AtomicU32, Ordering};

/// The number of objects that a thread has allocated and reported without running a constructor. A
/// constructor that runs later must not report them again. Only the thread itself uses this.
#[derive(Default)]
pub struct Unconstructed(AtomicU32);

impl Unconstructed {
    pub fn add(&self) {
        self.0.store(self.0.load(Ordering::Relaxed).saturating_add(1), Ordering::Relaxed);
    }

    /// Returns true if the object that is being constructed is one of them. `is_reported` returns
    /// whether it was reported before; it is called only if there are any.
    pub fn is_one(&self, is_reported: impl FnOnce() -> bool) -> bool {
        let count = self.0.load(Ordering::Relaxed);
        let is_one = count > 0 && is_reported();
        if is_one {
            self.0.store(count - 1, Ordering::Relaxed);
        }
        is_one
    }
}
