//! What the shim knows: agents, threads, classes, methods, objects, raw monitors, and when IDs
//! may die.

pub mod agents;
pub mod arenas;
pub mod calls;
pub mod classes;
pub mod compiled;
pub mod countdowns;
pub mod cpu_clock;
pub mod growing;
pub mod ids;
pub mod layout;
pub mod loaded;
pub mod lookup;
pub mod methods;
pub mod monitors;
pub mod order;
pub mod phase;
pub mod raw_monitors;
pub mod references;
pub mod suspension;
pub mod switches;
pub mod tagging;
pub mod tags;
pub mod thread_status;
pub mod threads;
pub mod tracked;
