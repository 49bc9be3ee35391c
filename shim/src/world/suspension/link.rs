//! The list of the threads that wait for the service thread, as far as it lies in each of them.

use crate::world::threads::record::Thread;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// A thread's place among those that wait for the service thread.
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
