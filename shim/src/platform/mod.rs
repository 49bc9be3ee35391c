//! Features that only Linux has: futexes, `/proc`, clocks of threads, the dynamic loader.
//!
//! With `--cfg model` the module `model` replaces the parts by which threads affect each other.

#[cfg(not(model))]
pub mod cpu_clock;
pub mod cpu_timer;
pub mod dynamic_loader;
#[cfg(not(model))]
pub mod futex;
#[cfg(not(model))]
pub mod membarrier;
#[cfg(model)]
pub mod model;
#[cfg(not(model))]
pub mod os_thread;
#[cfg(not(model))]
pub mod scheduling;
pub mod starving;
#[cfg(not(model))]
pub mod sync;
#[cfg(not(model))]
pub mod thread_local_word;

#[cfg(model)]
pub use model::{cpu_clock, futex, membarrier, os_thread, scheduling, sync, thread_local_word};
