//! What the shim knows: agents, threads, classes, methods, objects, raw monitors, and when IDs
//! may die.

pub mod agents;
pub mod announced;
pub mod arenas;
pub mod classes;
pub mod collections;
pub mod cpu_clock;
pub mod gate;
pub mod gc_counts;
pub mod ids;
pub mod methods;
pub mod monitors;
pub mod phase;
pub mod raw_monitors;
pub mod references;
pub mod suspension;
pub mod threads;
pub mod tracked;
