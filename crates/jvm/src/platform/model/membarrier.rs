//! The memory barrier that the kernel runs on all threads.

use super::machine;

/// Registers the process, which always succeeds.
pub fn register() -> bool {
    true
}

/// Runs the barrier on all threads.
pub fn of_all_threads() {
    machine::step();
    machine::commit_executed();
}
