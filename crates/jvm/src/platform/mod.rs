//! The functions of the operating system that the crates for the JVM need. Each system has a folder with the same modules, and
//! functions of the same names and types, which do what those of Linux say. A system that lacks something says so by the
//! function's own result.
//!
//! With the feature `model` the module `model` replaces the parts by which threads affect each other.

#[cfg(unix)]
mod linux;
#[cfg(feature = "model")]
pub mod model;
#[cfg(not(feature = "model"))]
pub mod sync;
#[cfg(all(test, not(feature = "model")))]
mod tests;
mod thread_local_macro;
#[cfg(not(feature = "model"))]
pub mod thread_local_word;
mod types;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use linux::*;
#[cfg(feature = "model")]
pub use model::{futex, membarrier, os_thread, sync, thread_local_word};
#[cfg(windows)]
pub use windows::*;
