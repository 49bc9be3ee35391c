//! Features that only Linux has: futexes, `/proc`, clocks of threads, the dynamic loader.
//!
//! With the feature `model` the module `model` replaces the parts by which threads affect each other.

pub mod anonymous_memory;
pub mod cpu_clock;
pub mod cpu_timer;
pub mod dynamic_loader;
#[cfg(not(feature = "model"))]
pub mod futex;
#[cfg(not(feature = "model"))]
pub mod membarrier;
#[cfg(feature = "model")]
pub mod model;
pub mod os_priority;
#[cfg(not(feature = "model"))]
pub mod os_thread;
pub mod own_memory;
pub mod registers;
pub mod signal;
#[cfg(not(feature = "model"))]
pub mod sync;
mod thread_local_macro;
#[cfg(not(feature = "model"))]
pub mod thread_local_word;

#[cfg(feature = "model")]
pub use model::{futex, membarrier, os_thread, sync, thread_local_word};
