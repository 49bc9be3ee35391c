//! The state of collections: the gate, the queue of dead objects, arenas; also the walks through the heap that look up objects.

pub mod arenas;
pub mod deaths;
pub mod gate;
pub mod heap_walk;
pub mod lookup;
