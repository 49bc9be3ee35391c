//! The owner of the mutex for which a thread waits.

use super::machine;

/// Returns the thread that owns the mutex for which this one waits; None if it waits for none that
/// shows it.
pub fn of(os_thread: i32) -> Option<i32> {
    machine::step();
    machine::mutex_owner(os_thread)
}

/// Returns true: a model has no sandbox.
pub fn is_shown() -> bool {
    true
}
