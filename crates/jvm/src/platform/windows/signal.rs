//! The signal that makes a thread take its own call trace, which Windows does not have.

pub use crate::platform::types::{Action, Cause};

/// Returns false: there is no handler.
pub fn is_installed() -> bool {
    false
}

/// Returns None: there is no signal.
pub fn number() -> Option<i32> {
    None
}

/// Returns false: no handler can be installed.
pub fn install(_: Action) -> bool {
    false
}

/// Returns false: the thread is not interrupted.
pub fn send(_: i32) -> bool {
    false
}

/// Runs `f`. There are no signals to block.
pub fn while_blocked<R>(f: impl FnOnce() -> R) -> R {
    f()
}
