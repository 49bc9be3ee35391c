//! Plain state: the records of agents, threads and classes, IDs, the phase and the epoch. Nothing here waits for
//! another thread or calls an agent.

pub mod agents;
pub mod announced;
pub mod announced_methods;
pub mod calls;
pub mod class;
pub mod construction;
pub mod ids;
pub mod in_flight;
pub mod native_methods;
pub mod numbered;
pub mod pauses;
pub mod phase;
pub mod receivers;
pub mod registry;
pub mod sample;
pub mod suspension;
pub mod thread;
pub mod tracker;
pub mod virtual_thread;
pub mod waits;
