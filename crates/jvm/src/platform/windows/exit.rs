//! The end of this process.

/// Returns false: the system ends all other threads before it calls functions of a library.
pub fn at_exit(_: extern "C" fn()) -> bool {
    false
}
