//! The stream that a profiler sends to the command that started it: the model in a compact form.
//!
//! A stream is a row of [`Message`]s in the format of postcard. Entries of the tables of names, methods, frames and
//! stacks come once, before messages that refer to them by their numbers in the sender's profile; frames and stacks are
//! numbered in their order. Then follow sections, each with its rows behind it, and the end of a dump. The form is not
//! stable: both ends are of the same version.

mod read;
mod write;

pub use read::{StreamEvent, StreamReader};
pub use write::StreamWriter;

use crate::profile::model::{
    BucketSamples, Class, CpuSample, Frame, FrameId, Method, MethodId, MonitorStatus, MonitorTime,
    NameId, Section, Site, StackId, StackTime, Thread, ThreadSerial, ThreadStatus, Time,
    TraceSerial,
};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The number of the form, which a stream begins with.
const VERSION: u32 = 4;
/// The longest message that is read.
const MOST: usize = 1 << 20;

/// A part of a stream.
#[derive(Debug, Serialize, Deserialize)]
enum Message<'a> {
    /// The first message.
    Begin {
        version: u32,
        created: Time,
        process: u32,
    },
    Name(NameId, &'a str),
    Method(MethodId, Method),
    Frame(Frame),
    /// The innermost frame, and the stack of its caller.
    Stack(FrameId, StackId),
    Trace(TraceSerial, ThreadSerial, StackId),
    ThreadStart(Thread),
    ThreadEnd(ThreadSerial),
    Class(Class),
    /// A section without its rows.
    Section(Cow<'a, Section>),
    Row(Row),
    EndOfDump(DumpKind),
    Note(&'a str),
}

/// A row of the last section.
#[derive(Debug, Serialize, Deserialize)]
enum Row {
    Site(Site),
    CpuSample(CpuSample),
    Bucket(BucketSamples),
    StackTime(StackTime),
    MonitorTime(MonitorTime),
    Thread(ThreadStatus),
    Monitor(MonitorStatus),
}

/// The kind of a dump.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum DumpKind {
    /// A dump; the next one does not repeat its times and samples.
    Dump,
    /// A dump that the next one repeats.
    Snapshot,
    /// The last one; the program continues.
    Last,
    /// The last one, at the end of the program.
    AtExit,
}
