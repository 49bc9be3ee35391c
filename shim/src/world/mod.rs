//! What the shim knows: agents, threads, classes, methods, objects, raw monitors, and when IDs
//! may die.

pub mod agents;
pub mod announced;
pub mod arenas;
pub mod calls;
pub mod classes;
pub mod collections;
pub mod cpu_clock;
pub mod epoch;
pub mod gate;
pub mod gc_counts;
pub mod growing;
pub mod heap;
pub mod ids;
pub mod in_flight;
pub mod methods;
pub mod monitors;
pub mod phase;
pub mod raw_monitors;
pub mod references;
pub mod standstill;
pub mod suspension;
pub mod switches;
pub mod thread_status;
pub mod threads;
pub mod tracked;
