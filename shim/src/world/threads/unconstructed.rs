//! What a thread has allocated without running a constructor.

use std::sync::atomic::{AtomicU32, Ordering};

/// How many objects a thread has allocated and reported without running a constructor, which may
/// still come and must not report them again. Only the thread itself uses this.
#[derive(Default)]
pub struct Unconstructed(AtomicU32);

impl Unconstructed {
    pub fn add(&self) {
        self.0.store(self.0.load(Ordering::Relaxed).saturating_add(1), Ordering::Relaxed);
    }

    /// Whether the object that is being constructed is one of them. Costs nothing if there are
    /// none; else `is_known` says whether it was reported before.
    pub fn is_one(&self, is_known: impl FnOnce() -> bool) -> bool {
        let count = self.0.load(Ordering::Relaxed);
        let is_one = count > 0 && is_known();
        if is_one {
            self.0.store(count - 1, Ordering::Relaxed);
        }
        is_one
    }
}
