//! Windows: waits on addresses, virtual memory, the loader of DLLs, clocks of threads, exceptions.
//!
//! Nothing interrupts a thread here as a signal does, so there are no asynchronous call traces: `signal` has no handler,
//! and `cpu_timer` no timer.

pub mod anonymous_memory;
pub mod cpu_clock;
pub mod cpu_timer;
pub mod dynamic_loader;
pub mod exit;
#[cfg(not(feature = "model"))]
pub mod futex;
pub mod guard_pages;
mod machine_code;
#[cfg(not(feature = "model"))]
pub mod membarrier;
pub mod names;
pub mod os_priority;
#[cfg(not(feature = "model"))]
pub mod os_thread;
pub mod own_memory;
pub mod registers;
pub mod signal;
pub mod sockets;
pub mod thread_local_slot;
