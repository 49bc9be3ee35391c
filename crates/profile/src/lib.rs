//! What a profiler has found out, and the formats in which it is written and read. This crate knows
//! nothing of a JVM or of JVMPI.
//!
//! [`Profile`] is the model. It has what a file of HPROF has, section by section and under the names that
//! the file has for it: threads, traces, allocation sites, CPU samples and times, monitors. What only
//! binary files tell, or only text, is said at each field. Objects of heap dumps are no part of it: they
//! are [`heap::Record`]s, passed one after the other.

mod binary;
mod file;
pub mod heap;
mod model;
mod text;
mod writer;

pub use binary::{BinaryWriter, Version};
pub use file::{Encoding, Error, File, HeapReader};
pub use model::*;
pub use text::{PREAMBLE, TextWriter};
pub use writer::{EachRecord, Writer};
