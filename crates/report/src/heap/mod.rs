//! What keeps a heap large: who dominates whom, what each object and each class retains, and how the
//! objects that matter are reached from a root.
//!
//! [`Collector`] takes the records of a dump as they come, [`Graph`] keeps the objects in a few arrays, and
//! [`Analysis`] says the rest. Objects are numbered from 0 in the order of the dump.

mod analysis;
mod collector;
mod dominators;
mod graph;
mod paths;

pub use analysis::{Analysis, Class, Referrer, Retained, referrers};
pub use collector::{Collector, read};
pub use dominators::Dominators;
pub use graph::{Builder, Graph, Kind, Label, Root, TooLarge};
pub use paths::{Path, Paths, Step};
