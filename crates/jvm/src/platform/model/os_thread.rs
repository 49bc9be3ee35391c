//! The numbers of threads.

use super::machine;

/// Returns the number of the current thread.
pub fn os_thread() -> i32 {
    machine::number()
}

/// Returns no thread: no model needs them.
pub fn all() -> impl Iterator<Item = i32> {
    std::iter::empty()
}

/// Returns the number of the current thread.
pub fn ask() -> i32 {
    machine::number()
}

/// Returns the name of a thread, which is empty in a model.
pub fn name_of(_: i32) -> String {
    String::new()
}
