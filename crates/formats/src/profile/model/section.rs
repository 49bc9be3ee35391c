//! The sections of a dump: allocation sites, CPU time, monitors, the heap's size.

use super::{
    ClassSerial, MethodId, NameId, ObjectId, StackId, ThreadSerial, ThreadState, Time, TraceSerial,
    Type,
};
use serde::{Deserialize, Serialize};
use std::ops::{AddAssign, Range};
use std::time::Duration;

/// A section of a file. A dump consists of the sections that were asked for, in this order. Serialized
/// without its rows, which have records of their own in a stream.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Section {
    MonitorDump(MonitorDump),
    MonitorTimes(MonitorTimes),
    HeapDump(HeapDump),
    HeapSummary(HeapSummary),
    Sites(Sites),
    CpuSamples(CpuSamples),
    CpuTimes(CpuTimes),
    CpuOld(CpuOld),
}

impl Section {
    /// Returns the name of the section.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::MonitorDump(_) => "monitor dump",
            Self::MonitorTimes(_) => "monitor times",
            Self::HeapDump(_) => "heap dump",
            Self::HeapSummary(_) => "heap summary",
            Self::Sites(_) => "allocation sites",
            Self::CpuSamples(_) => "CPU samples",
            Self::CpuTimes(_) => "CPU times",
            Self::CpuOld(_) => "calls of cpu=old",
        }
    }

    /// Returns the traces of its rows.
    pub fn traces(&self) -> Vec<TraceSerial> {
        match self {
            Self::MonitorDump(dump) => dump.threads.iter().map(|row| row.trace).collect(),
            Self::MonitorTimes(times) => times.rows.iter().map(|row| row.trace).collect(),
            Self::Sites(sites) => sites.rows.iter().map(|row| row.trace).collect(),
            Self::CpuSamples(samples) => samples.rows.iter().map(|row| row.trace).collect(),
            Self::CpuTimes(times) => times.rows.iter().map(|row| row.trace).collect(),
            Self::HeapDump(_) | Self::HeapSummary(_) | Self::CpuOld(_) => Vec::new(),
        }
    }

    /// Returns the time when it was written; a monitor dump and the calls of `cpu=old` have none.
    pub fn at(&self) -> Option<Time> {
        match self {
            Self::MonitorDump(_) | Self::CpuOld(_) => None,
            Self::MonitorTimes(times) => times.at,
            Self::HeapDump(dump) => dump.at,
            Self::HeapSummary(summary) => summary.at,
            Self::Sites(sites) => sites.at,
            Self::CpuSamples(samples) => samples.at,
            Self::CpuTimes(times) => times.at,
        }
    }
}

/// Instances and their bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Amount {
    /// Their size in bytes, all together.
    pub bytes: u64,
    /// Their number.
    pub instances: u64,
}

impl AddAssign for Amount {
    fn add_assign(&mut self, more: Self) {
        self.bytes = self.bytes.saturating_add(more.bytes);
        self.instances = self.instances.saturating_add(more.instances);
    }
}

/// The objects by the place of their allocation.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Sites {
    /// The time when the section was written.
    pub at: Option<Time>,
    /// True if it is ordered by what was allocated, not by what lives.
    pub by_allocation: bool,
    /// True if it has only the changes since the section before (binary).
    pub incremental: bool,
    /// True if a collection was made first (binary).
    pub after_gc: bool,
    /// The part of the whole below which rows are left out (binary).
    pub cutoff: f32,
    /// The live objects, including sites that were cut off (binary; in text the sum of the rows).
    pub live: Amount,
    /// The allocated objects, including sites that were cut off (binary; in text the sum of the rows).
    pub allocated: Amount,
    /// The sites, largest first.
    #[serde(skip)]
    pub rows: Vec<Site>,
}

/// A class of objects that were allocated at a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Site {
    /// The class; of an array of references, the class of the elements.
    pub class: ClassSerial,
    /// The type of the elements if the objects are arrays. Text has it only if the class is unknown.
    pub array_of: Option<Type>,
    /// The trace of the allocation.
    pub trace: TraceSerial,
    /// The live objects.
    pub live: Amount,
    /// The allocated objects.
    pub allocated: Amount,
}

/// The size of the heap (binary).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct HeapSummary {
    /// The time of the count.
    pub at: Option<Time>,
    /// The live objects.
    pub live: Amount,
    /// The objects allocated since the VM started.
    pub allocated: Amount,
}

/// The traces that threads were found to execute.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CpuSamples {
    /// The time when the section was written.
    pub at: Option<Time>,
    /// The time between samples. No file has it.
    pub interval: Option<Duration>,
    /// The number of samples, including the traces that were cut off.
    pub total: u64,
    /// The traces, most frequent first.
    #[serde(skip)]
    pub rows: Vec<CpuSample>,
    /// The same over time. No file has it.
    pub timeline: Timeline,
}

/// The samples over time. Only buckets of time in which a trace was found have a row.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Timeline {
    /// The duration of a bucket. The first bucket begins with the recording.
    pub bucket: Duration,
    /// The rows, in the order of time.
    #[serde(skip)]
    pub rows: Vec<BucketSamples>,
}

/// The samples of a trace in a bucket of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BucketSamples {
    /// The number of the bucket, from 0.
    pub bucket: u32,
    /// The trace.
    pub trace: TraceSerial,
    /// The samples.
    pub samples: u64,
}

/// The number of times a trace was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CpuSample {
    /// The trace.
    pub trace: TraceSerial,
    /// The samples since the last dump. If `hits` differs, text has them as a percentage with two digits
    /// after the point.
    pub samples: u64,
    /// The samples since the VM started: the column `count` of text.
    pub hits: u64,
}

impl CpuSample {
    /// Returns the samples of a trace in the first dump.
    pub const fn new(trace: TraceSerial, samples: u64) -> Self {
        Self { trace, samples, hits: samples }
    }
}

/// The running times of methods.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CpuTimes {
    /// The time when the section was written.
    pub at: Option<Time>,
    /// The time of all traces, also of those that were cut off.
    pub total: Duration,
    /// If only calls count that took at least this elapsed time: the times are elapsed times then, and the time of a
    /// call includes that of shorter calls in it.
    pub over: Option<Duration>,
    /// The traces, longest first.
    #[serde(skip)]
    pub rows: Vec<CpuTime>,
}

/// The running time of the innermost method of a trace, called by the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CpuTime {
    /// The trace.
    pub trace: TraceSerial,
    /// The time since the last dump, without the time of called methods. Text has it as a percentage with two
    /// digits after the point.
    pub own: Duration,
    /// The number of its calls since the VM started.
    pub calls: u64,
}

/// The same of a stack that has no number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StackTime {
    /// The thread, if each has stacks of its own.
    pub thread: ThreadSerial,
    /// The stack.
    pub stack: StackId,
    /// The same as [`CpuTime::own`].
    pub own: Duration,
    /// The same as [`CpuTime::calls`].
    pub calls: u64,
}

/// The calls by caller and callee: `cpu=old`, in the format of `java -prof` (text).
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CpuOld {
    /// The pairs, most frequent first.
    #[serde(skip)]
    pub rows: Vec<Call>,
}

/// The calls of one method by another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    /// The number of calls.
    pub count: u64,
    /// The method that was called.
    pub callee: Option<MethodId>,
    /// The method that has called it.
    pub caller: Option<MethodId>,
    /// The time in the callee and in what it has called.
    pub time: Duration,
}

/// A monitor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Monitor {
    /// An object's.
    Java {
        /// The object.
        object: ObjectId,
        /// The name of the object's class.
        class: NameId,
    },
    /// A raw monitor.
    Raw {
        /// Its ID.
        id: ObjectId,
        /// Its name.
        name: NameId,
    },
}

impl Monitor {
    /// Returns the name of the object's class, or that of the raw monitor.
    pub const fn name(self) -> NameId {
        let (Self::Java { class: name, .. } | Self::Raw { name, .. }) = self;
        name
    }

    /// Returns the same name, to be changed.
    pub const fn name_mut(&mut self) -> &mut NameId {
        let (Self::Java { class: name, .. } | Self::Raw { name, .. }) = self;
        name
    }
}

/// The time that threads waited to enter monitors (text).
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct MonitorTimes {
    /// The time when the section was written.
    pub at: Option<Time>,
    /// The time of all, also of those that were cut off.
    pub total: Duration,
    /// The monitors and traces, longest first.
    #[serde(skip)]
    pub rows: Vec<MonitorTime>,
}

/// The time that a monitor was waited for at a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MonitorTime {
    /// The monitor.
    pub monitor: Monitor,
    /// The trace where it was waited for.
    pub trace: TraceSerial,
    /// The number of waits.
    pub hits: u64,
    /// The time waited. Text has it as a percentage with two digits after the point.
    pub time: Duration,
}

/// All threads and monitors at one moment (text).
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct MonitorDump {
    /// The threads.
    #[serde(skip)]
    pub threads: Vec<ThreadStatus>,
    /// The monitors.
    #[serde(skip)]
    pub monitors: Vec<MonitorStatus>,
}

/// The state of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ThreadStatus {
    /// The thread.
    pub thread: ThreadSerial,
    /// Its stack.
    pub trace: TraceSerial,
    /// Its state.
    pub state: ThreadState,
    /// True if it is suspended.
    pub suspended: bool,
    /// True if it is interrupted.
    pub interrupted: bool,
}

/// The owner of a monitor and the threads that wait for it. Thread 0 is unknown.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MonitorStatus {
    /// The monitor.
    pub monitor: Monitor,
    /// Its owner, if it has one.
    pub owner: Option<ThreadSerial>,
    /// The number of times the owner has entered it.
    pub entry_count: u32,
    /// The threads that wait to enter.
    pub waiting_to_enter: Vec<ThreadSerial>,
    /// The threads that wait to be notified.
    pub waiting_to_be_notified: Vec<ThreadSerial>,
}

/// A dump of the heap: where it lies in its file. The objects are not kept in memory; a reader passes them
/// one after the other.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct HeapDump {
    /// The time when it was made.
    pub at: Option<Time>,
    /// The live objects, as the profiler counted them (text).
    pub live: Option<Amount>,
    /// The places of its records in the file: one, or the segments.
    pub parts: Vec<Range<u64>>,
}
