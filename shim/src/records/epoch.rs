//! The epoch: a number that changes with everything that decides which agent gets which event.
//!
//! Sending an event takes many checks: the agent has enabled it, it has got the announcements of the
//! thread and the class, the VM is not ending. They are made once for each thread and method in an
//! epoch. Until the epoch ends, one comparison replaces them.

use crate::platform::sync::atomic::{AtomicU64, Ordering};

/// Odd while the gate is closed. Never [`NONE`].
static EPOCH: AtomicU64 = AtomicU64::new(2);

/// No epoch: for a thread or method that was never checked.
pub const NONE: u64 = 0;

/// Returns the current epoch.
#[inline]
pub fn now() -> u64 {
    EPOCH.load(Ordering::Acquire)
}

/// Returns true if checks made in the epoch stay valid until it ends.
pub fn is_open(epoch: u64) -> bool {
    epoch.is_multiple_of(2)
}

/// Ends the epoch because something has changed, and begins the next one.
pub fn change() {
    EPOCH.fetch_add(2, Ordering::SeqCst);
}

/// Ends the epoch. The next one begins with [`open`]. One caller at a time.
pub fn close() {
    EPOCH.fetch_add(1, Ordering::SeqCst);
}

/// Begins an epoch after [`close`].
pub fn open() {
    EPOCH.fetch_add(1, Ordering::SeqCst);
}
