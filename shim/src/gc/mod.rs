//! The state of collections: the gate, the queue of dead objects, arenas; also walks through the heap, for objects by their IDs.

pub mod arenas;
pub mod deaths;
pub mod gate;
pub mod heap_walk;
pub mod lookup;
