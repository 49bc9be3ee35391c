//! Features that only Linux has: futexes, `/proc`, clocks of threads, the dynamic loader.

pub mod cpu_clock;
pub mod dynamic_loader;
pub mod futex;
pub mod os_thread;
pub mod scheduling;
pub mod starving;
pub mod thread_local_word;
