//! Recordings of the traffic between an agent and JVMPI: every event, and every call of the agent with its
//! result and output. The order is exact within a thread, and between threads as far as it matters.
//!
//! [`Recorder`] is a [layer](crate::layer) that writes such a file, [`Trace`] reads it, [`replay()`] feeds
//! another agent from it, without a VM.

mod coding;
mod events;
mod fields;
mod file;
pub mod for_tests;
mod functions;
mod read;
mod record;
mod replay;
mod shared;
mod stats;
#[cfg(test)]
mod tests;
mod thread_buffer;

pub use events::event_name;
pub(crate) use events::fields;
pub(crate) use fields::{Fields, Word};
pub use functions::Function;
pub(crate) use functions::{arguments_of, threads_of_list};
pub use read::{Call, Entry, Event, Key, Record, Records, Thread, Trace};
pub use record::Recorder;
pub use replay::{Summary, replay, replay_functions};
pub use stats::{Statistics, statistics};
