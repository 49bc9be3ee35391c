//! Finds out if a thread sleeps.

use super::machine;

/// Returns true if the thread is blocked until something happens, or if there is none.
pub fn is_asleep(os_thread: i32) -> bool {
    machine::step();
    machine::is_asleep(os_thread)
}
