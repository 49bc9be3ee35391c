//! The results of a profiler, and the formats in which they are written and read.
//!
//! [`Profile`] is the model. It has the sections of a file of HPROF under their names in the file:
//! threads, traces, allocation sites, CPU samples and times, monitors. A field says if only binary files
//! or only text have it. Objects of heap dumps are no part of it: they are [`heap::Record`]s, passed one
//! after the other.

mod binary;
mod convert;
mod error;
mod file;
mod formats;
pub mod heap;
mod hidden;
mod increments;
#[cfg(feature = "jfr")]
mod jfr;
mod model;
mod printable;
mod stream;
mod text;
mod weight;
mod whole_file;
mod writer;

pub use binary::{BinaryWriter, Version};
pub use convert::LeftOut;
pub use error::Error;
pub use file::{Encoding, File, HeapReader};
#[cfg(feature = "otlp")]
pub use formats::{AttributeValue, otlp, otlp_rejected};
pub use formats::{Family, Format, write_stacks};
pub use formats::{write_difference, write_family};
pub use hidden::without_address;
pub use increments::Increments;
#[cfg(feature = "jfr")]
pub use jfr::{Jvm, write as write_jfr};
pub use model::*;
pub use printable::printable;
pub use stream::{DumpKind, StreamEvent, StreamReader, StreamWriter};
pub use text::{PREAMBLE, TextWriter, preamble};
pub use weight::{Stack, Unit, Weight, stacks};
pub use whole_file::WholeFile;
pub use writer::{EachRecord, Writer};
