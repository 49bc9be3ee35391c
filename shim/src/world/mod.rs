//! The shim's records: agents, threads, classes, methods, objects, raw monitors; and the order of events,
//! and suspension.

pub mod agent_clock;
pub mod agents;
pub mod append_only;
pub mod arenas;
pub mod calls;
pub mod class;
pub mod classes;
pub mod compiled;
pub mod construction;
pub mod contention;
pub mod countdowns;
pub mod cpu_clock;
pub mod ids;
pub mod ids_again;
pub mod layout;
pub mod loaded;
pub mod lookup;
pub mod lookupswitch;
pub mod method_classes;
pub mod method_numbers;
pub mod methods;
pub mod order;
pub mod pauses;
pub mod phase;
pub mod raw_monitors;
pub mod references;
mod runs;
pub mod seen_frames;
pub mod suspension;
pub mod tagging;
pub mod tags;
pub mod thread_status;
pub mod threads;
pub mod tracker;
pub mod waits;
