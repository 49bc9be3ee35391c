//! Mounting and unmounting a virtual thread, as the VM reports it on the carrier.

use std::sync::atomic::{AtomicBool, Ordering};

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
