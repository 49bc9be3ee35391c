//! Plain state: the records of agents, threads and classes, IDs, the phase and the epoch. Nothing here waits for
//! another thread or calls an agent.

pub mod agents;
pub mod announced;
pub mod append_only;
pub mod calls;
pub mod class;
pub mod construction;
pub mod consumed;
pub mod epoch;
pub mod free_ids;
pub mod gc_switch;
pub mod ids;
pub mod in_flight;
pub mod jni_monitors;
pub mod layout;
pub mod loaded;
pub mod lookupswitch;
pub mod moves;
pub mod native_methods;
pub mod pauses;
pub mod phase;
pub mod receivers;
pub mod registry;
pub mod running;
pub mod runs;
pub mod sample;
pub mod subject;
pub mod suspension;
pub mod tags;
pub mod thread;
pub mod trace;
pub mod tracker;
pub mod unconstructed;
pub mod virtual_thread;
pub mod wait_target;
pub mod waits;
