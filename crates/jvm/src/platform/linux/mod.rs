//! Linux: futexes, `/proc`, signals, clocks and timers of threads, the dynamic loader.

pub mod anonymous_memory;
#[cfg(target_arch = "x86_64")]
mod compiled_code;
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
