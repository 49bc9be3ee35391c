//! HPROF, the profiler agent of JDK 1.2 to 8, written anew for JVMPI.

pub mod call_times;
pub mod control;
pub mod cpu_clock;
pub mod objects;
pub mod options;
pub mod sites;
