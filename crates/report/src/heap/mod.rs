//! Heap analysis: dominators, the retained sizes of objects and classes, and the paths from roots to
//! objects.
//!
//! [`Collector`] takes the records of a dump one by one, [`Graph`] keeps the objects in a few arrays, and
//! [`Analysis`] computes the results. Objects are numbered from 0 in the order of the dump.

mod analysis;
mod collector;
mod dominators;
mod graph;
mod paths;

pub use analysis::{Analysis, Class, Referrer, Retained, referrers};
pub use collector::{Collector, Slot, or_unknown, read, references};
pub use graph::{Builder, Graph, Kind, Label, Root};
pub use paths::{Path, Paths, Step};
