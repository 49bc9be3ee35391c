//! The epoch: a number that changes with everything that decides which agent gets which event.
//!
//! Whether an event may be sent takes many questions: does the agent want it, have the thread and the
//! class been announced to it, is the VM ending. They are asked once for each thread and each method
//! in an epoch; as long as it lasts, one comparison answers them all.

use std::sync::atomic::{AtomicU64, Ordering};

/// Odd while the gate is closed. Never [`NONE`].
static EPOCH: AtomicU64 = AtomicU64::new(2);

/// No epoch: for a thread or method of which the questions were never asked.
pub const NONE: u64 = 0;

/// The current epoch.
#[inline]
pub fn now() -> u64 {
    EPOCH.load(Ordering::Acquire)
}

/// Whether answers that were found in the epoch may be relied on.
pub fn is_open(epoch: u64) -> bool {
    epoch.is_multiple_of(2)
}

/// Ends the epoch: something has changed.
pub fn change() {
    EPOCH.fetch_add(2, Ordering::SeqCst);
}

/// Ends the epoch; none begins until [`open`] is called. One caller at a time.
pub fn close() {
    EPOCH.fetch_add(1, Ordering::SeqCst);
}

/// Begins an epoch after [`close`].
pub fn open() {
    EPOCH.fetch_add(1, Ordering::SeqCst);
}
