//! The GC events: the gate, the queue of dead objects, arenas; and the walks through the heap that find dead objects.

pub mod arenas;
pub mod barrier;
pub mod collections;
pub mod deaths;
pub mod gate;
pub mod gc_counts;
pub mod lookup;
