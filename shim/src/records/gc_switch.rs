//! The switch of garbage collection that agents have, `DisableGC` and `EnableGC`.

use std::sync::atomic::{AtomicU32, Ordering};

/// The calls of DisableGC without their EnableGC.
static DISABLED: AtomicU32 = AtomicU32::new(0);

/// Disables it once more.
pub fn off() {
    DISABLED.fetch_add(1, Ordering::SeqCst);
}

/// Takes back one [`off`] of any thread; a surplus one does nothing. True if that was the last.
pub fn on() -> bool {
    let less = |n: u32| n.checked_sub(1);
    DISABLED.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less) == Ok(1)
}

/// Whether an agent has disabled it.
pub fn is_off() -> bool {
    DISABLED.load(Ordering::SeqCst) > 0
}
