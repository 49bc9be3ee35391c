//! HPROF, the profiler agent of JDK 1.2 to 8, reimplemented for JVMPI: `libhprof.so`.
//!
//! `docs/reference/hprof.md` describes it. A front end that drives it over `net=` finds the commands in
//! [`jvmpi_formats::hprof::control`].

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod agent;
mod call_times;
mod cpu;
mod cpu_clock;
mod cpu_state;
mod dumps;
mod events;
mod heap;
mod listener;
mod load;
mod locks;
mod message;
mod monitor_times;
mod monitors;
mod mutex;
mod objects;
mod orders;
mod output;
mod per_thread;
mod rendered;
mod sampler;
mod session;
mod shared;
mod sites;
mod symbols;
mod timeline;
mod wall;
mod weights;

/// Tells `libjvmpi.so` that this is not Sun's HPROF, which needs special settings.
#[unsafe(no_mangle)]
#[used]
#[allow(non_upper_case_globals, reason = "it is a name for C")]
pub static jvmpi_no_quirks: u8 = 0;
