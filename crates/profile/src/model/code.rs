//! Methods, frames and traces: where something happened.

use super::{FrameId, MethodId, NameId, ThreadSerial, TraceSerial};
use hashbrown::HashTable;
use indexmap::{IndexMap, IndexSet};
use rustc_hash::{FxBuildHasher, FxHasher};
use std::hash::{Hash, Hasher};

/// A method. What is not known of it is the empty name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Method {
    /// The name of its class, with dots.
    pub class: NameId,
    /// Its name.
    pub name: NameId,
    /// Its descriptor. Text has it in the sections of `cpu=old` only.
    pub signature: NameId,
    /// The file with the class's source.
    pub source: NameId,
}

/// The line that is executed in a frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Line {
    /// This one.
    Number(u32),
    /// It is not known, or lines were not asked for.
    #[default]
    Unknown,
    /// Of compiled code of which no lines are known.
    Compiled,
    /// Of a native method.
    Native,
}

impl Line {
    /// The line that JVMPI and binary files tell by this number.
    pub fn from_code(code: i32) -> Self {
        match code {
            -2 => Self::Compiled,
            -3 => Self::Native,
            1.. => Self::Number(code as u32),
            _ => Self::Unknown,
        }
    }

    /// The number by which JVMPI and binary files tell it.
    pub fn code(self) -> i32 {
        match self {
            Self::Number(line) => i32::try_from(line).unwrap_or(-1),
            Self::Unknown => -1,
            Self::Compiled => -2,
            Self::Native => -3,
        }
    }
}

/// A place in a method.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Frame {
    /// The method.
    pub method: MethodId,
    /// The line.
    pub line: Line,
}

macro_rules! tables {
    ($($(#[$doc:meta])* $table:ident of $entry:ident by $id:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Default)]
        pub struct $table(IndexSet<$entry, FxBuildHasher>);

        impl $table {
            /// The ID of this one, which is added if it is new.
            pub fn intern(&mut self, entry: $entry) -> $id {
                $id(self.0.insert_full(entry).0 as u32)
            }

            /// The one with this ID.
            pub fn get(&self, id: $id) -> Option<$entry> {
                self.0.get_index(id.0 as usize).copied()
            }

            /// How many there are; their IDs are 0 to one less.
            pub fn len(&self) -> usize {
                self.0.len()
            }

            /// Whether there is none.
            pub fn is_empty(&self) -> bool {
                self.0.is_empty()
            }
        }
    )*};
}

tables! {
    /// The methods of a profile, each once.
    Methods of Method by MethodId;
    /// The frames of a profile, each once.
    Frames of Frame by FrameId;
}

/// A stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trace<'a> {
    /// Its number.
    pub serial: TraceSerial,
    /// The thread, if traces are kept by thread.
    pub thread: ThreadSerial,
    /// The frames, innermost first; none for the empty trace.
    pub frames: &'a [FrameId],
}

/// The traces of a profile.
#[derive(Clone, Debug, Default)]
pub struct Traces {
    /// The frames of all traces, one trace after the other.
    frames: Vec<FrameId>,
    by_serial: IndexMap<TraceSerial, Stored, FxBuildHasher>,
    /// Places in `by_serial`.
    by_content: HashTable<u32>,
    /// The largest number that was given.
    last: u32,
}

/// A trace, whose frames are those from `start`.
#[derive(Clone, Copy, Debug)]
struct Stored {
    thread: ThreadSerial,
    start: usize,
    len: u32,
}

impl Traces {
    /// The number of the trace with these frames in this thread; the next number if it is new.
    pub fn intern(&mut self, thread: ThreadSerial, frames: &[FrameId]) -> TraceSerial {
        let hash = hash(thread, frames);
        let found = self.by_content.find(hash, |&index| {
            let trace = self.at(index as usize);
            trace.is_some_and(|t| t.thread == thread && t.frames == frames)
        });
        if let Some(&index) = found {
            return self.at(index as usize).map(|trace| trace.serial).unwrap_or_default();
        }
        let serial = TraceSerial(self.last.saturating_add(1));
        self.insert(serial, thread, frames);
        serial
    }

    /// Adds a trace under the number that it has in a file. One that has this number is replaced.
    pub fn insert(&mut self, serial: TraceSerial, thread: ThreadSerial, frames: &[FrameId]) {
        let stored = Stored { thread, start: self.frames.len(), len: frames.len() as u32 };
        self.frames.extend_from_slice(frames);
        self.last = self.last.max(serial.0);
        let (index, _) = self.by_serial.insert_full(serial, stored);
        let Self { by_content, by_serial, frames: all, .. } = self;
        by_content.insert_unique(hash(thread, frames), index as u32, |&index| {
            let stored = by_serial[index as usize];
            hash(stored.thread, &all[stored.start..][..stored.len as usize])
        });
    }

    /// The trace with this number.
    pub fn get(&self, serial: TraceSerial) -> Option<Trace<'_>> {
        self.by_serial.get(&serial).map(|stored| self.trace(serial, stored))
    }

    /// All traces in the order in which they were added.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Trace<'_>> {
        self.by_serial.iter().map(|(serial, stored)| self.trace(*serial, stored))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.by_serial.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_serial.is_empty()
    }

    fn at(&self, index: usize) -> Option<Trace<'_>> {
        self.by_serial.get_index(index).map(|(serial, stored)| self.trace(*serial, stored))
    }

    fn trace(&self, serial: TraceSerial, stored: &Stored) -> Trace<'_> {
        let frames = &self.frames[stored.start..][..stored.len as usize];
        Trace { serial, thread: stored.thread, frames }
    }
}

fn hash(thread: ThreadSerial, frames: &[FrameId]) -> u64 {
    let mut hasher = FxHasher::default();
    (thread, frames).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_has_one_number() {
        let mut traces = Traces::default();
        let (a, b) = (FrameId(0), FrameId(1));
        let thread = ThreadSerial(0);
        assert_eq!(traces.intern(thread, &[a, b]), TraceSerial(1));
        assert_eq!(traces.intern(thread, &[a]), TraceSerial(2));
        assert_eq!(traces.intern(ThreadSerial(7), &[a]), TraceSerial(3));
        assert_eq!(traces.intern(thread, &[]), TraceSerial(4));
        assert_eq!(traces.intern(thread, &[a, b]), TraceSerial(1));
        assert_eq!(traces.get(TraceSerial(3)).unwrap().thread, ThreadSerial(7));
        assert_eq!(traces.get(TraceSerial(1)).unwrap().frames, [a, b]);
        assert!(traces.get(TraceSerial(4)).unwrap().frames.is_empty());
        assert_eq!(traces.get(TraceSerial(5)), None);
    }

    #[test]
    fn many_traces_are_found_again() {
        let mut traces = Traces::default();
        let thread = ThreadSerial(0);
        let stack = |n: u32| [FrameId(n % 7), FrameId(n / 7), FrameId(n)];
        let serials: Vec<_> = (0..10_000).map(|n| traces.intern(thread, &stack(n))).collect();
        assert!((0..10_000).all(|n| traces.intern(thread, &stack(n)) == serials[n as usize]));
        assert_eq!(traces.len(), 10_000);
    }

    #[test]
    fn a_number_of_a_file_that_comes_again_means_the_later_trace() {
        let mut traces = Traces::default();
        let thread = ThreadSerial(0);
        traces.insert(TraceSerial(5), thread, &[FrameId(1)]);
        traces.insert(TraceSerial(5), thread, &[FrameId(2)]);
        assert_eq!(traces.get(TraceSerial(5)).unwrap().frames, [FrameId(2)]);
        assert_eq!(traces.len(), 1);
        assert_eq!(traces.intern(thread, &[FrameId(3)]), TraceSerial(6));
    }
}
