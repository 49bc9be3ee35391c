//! A link of the list of threads that wait for the service thread, of which each record has one.

use crate::world::threads::record::Thread;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// A thread's link in that list.
#[derive(Default)]
pub struct Link {
    pub(super) is_waiting: AtomicBool,
    pub(super) next: AtomicPtr<Thread>,
}

impl Link {
    /// Whether the record is in the list of the service thread.
    pub fn is_waiting(&self) -> bool {
        self.is_waiting.load(Ordering::SeqCst)
    }
}
