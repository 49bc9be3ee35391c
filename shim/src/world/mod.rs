//! What the shim knows: agents, threads, classes, methods, objects, raw monitors, and when IDs
//! may die.

pub mod agents;
pub mod announced;
pub mod classes;
pub mod cpu_clock;
pub mod gate;
pub mod ids;
pub mod methods;
pub mod phase;
pub mod raw_monitors;
pub mod suspension;
pub mod threads;
pub mod unloading;
