//! The switch for garbage collection that agents control with `DisableGC` and `EnableGC`.

use crate::platform::sync::atomic::{AtomicU32, Ordering};

/// The number of DisableGC calls without a matching EnableGC.
static DISABLED: AtomicU32 = AtomicU32::new(0);

/// Disables collection once more.
pub fn off() {
    DISABLED.fetch_add(1, Ordering::SeqCst);
}

/// Undoes one [`off`] of any thread, if there is one. Returns true if that was the last one.
pub fn on() -> bool {
    let less = |n: u32| n.checked_sub(1);
    DISABLED.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less) == Ok(1)
}

/// Returns true if an agent has disabled collection.
pub fn is_off() -> bool {
    DISABLED.load(Ordering::SeqCst) > 0
}
