//! The end of this process.

/// Has the function called when the process ends, while other threads still run. Returns false if the system calls none
/// then.
pub fn at_exit(function: extern "C" fn()) -> bool {
    // SAFETY: the function may be called at any time.
    unsafe { libc::atexit(function) == 0 }
}
