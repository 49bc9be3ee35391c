//! The types of the interface, which are the same on every system.

use std::ffi::c_void;
use std::path::PathBuf;

/// A library that is loaded in this process.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LoadedLibrary {
    /// The address at which its file is mapped.
    pub base: usize,
    /// The file as the dynamic loader names it.
    pub path: PathBuf,
}

/// The cause of a signal.
pub enum Cause {
    /// Another thread has sent it.
    Request,
    /// A timer with this value has expired that many times.
    Timer(usize, u32),
}

/// The function that runs in the thread that gets the signal, with the interrupted context. It uses only functions that
/// are allowed in a signal handler.
pub type Action = unsafe fn(cause: Cause, context: *mut c_void);

/// The accesses that the pages of [`guard_pages`](super::guard_pages) allow.
#[derive(Clone, Copy)]
pub enum Access {
    /// None.
    None,
    /// Loads.
    Read,
    /// Loads and stores.
    Write,
}
