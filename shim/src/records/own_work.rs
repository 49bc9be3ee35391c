//! Java code that a thread runs for the shim. Nothing of it is reported to agents.

use super::on_drop::OnDrop;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The nesting depth of the shim's own work on a thread.
#[derive(Default)]
pub struct OwnWork {
    depth: AtomicU32,
    needs_no_ids: AtomicBool,
}

impl OwnWork {
    /// Records that such work begins.
    pub fn begin(&self) {
        self.depth.fetch_add(1, Ordering::Relaxed);
    }

    /// Records that the innermost such work has ended.
    pub fn end(&self) {
        self.depth.fetch_sub(1, Ordering::Relaxed);
    }

    /// Returns true between [`begin`](Self::begin) and [`end`](Self::end).
    pub fn is_under_way(&self) -> bool {
        self.depth.load(Ordering::Relaxed) > 0
    }

    /// Runs `work`, whose objects do not outlive it and so need no IDs.
    pub fn without_ids<R>(&self, work: impl FnOnce() -> R) -> R {
        let outer = self.needs_no_ids.swap(true, Ordering::Relaxed);
        let _after = OnDrop(|| self.needs_no_ids.store(outer, Ordering::Relaxed));
        work()
    }

    /// Returns true if the objects that the thread allocates now need no IDs.
    pub fn needs_no_ids(&self) -> bool {
        self.needs_no_ids.load(Ordering::Relaxed)
    }
}
