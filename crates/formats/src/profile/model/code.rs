//! Methods, frames and traces: where something happened.

use super::{FrameId, Line, MethodId, NameId, ThreadSerial, TraceSerial};
use hashbrown::HashTable;
use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};
use serde::{Deserialize, Serialize};
use std::hash::BuildHasher;

/// A method. An unknown part of it is the empty name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
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

/// A place in a method.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
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
            /// Returns the ID of this entry, which is added if it is new.
            pub fn intern(&mut self, entry: $entry) -> $id {
                $id(self.0.insert_full(entry).0 as u32)
            }

            /// Returns the entry with this ID.
            pub fn get(&self, id: $id) -> Option<$entry> {
                self.0.get_index(id.0 as usize).copied()
            }

            /// Returns the number of entries; their IDs are 0 to one less.
            #[allow(clippy::len_without_is_empty, reason = "few profiles have none")]
            pub fn len(&self) -> usize {
                self.0.len()
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

impl Methods {
    /// Replaces the entry of a method that was not known when it got its ID. False if the new entry has another ID
    /// already.
    pub fn replace(&mut self, id: MethodId, method: Method) -> bool {
        let place = id.0 as usize;
        place < self.0.len() && self.0.replace_index(place, method).is_ok()
    }
}

/// The place of a stack in the tree of all stacks of a profile.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct StackId(pub u32);

impl StackId {
    /// The stack without frames.
    pub const EMPTY: Self = Self(0);
}

/// A stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trace<'a> {
    /// Its number.
    pub serial: TraceSerial,
    /// The thread, if traces are kept by thread.
    pub thread: ThreadSerial,
    /// The frames, innermost first; none for the empty trace.
    pub frames: FramePath<'a>,
}

/// The frames of a stack, innermost first.
#[derive(Clone, Copy)]
pub struct FramePath<'a> {
    traces: &'a Traces,
    stack: StackId,
}

impl<'a> FramePath<'a> {
    /// Iterates over the frames, innermost first.
    pub fn iter(self) -> impl Iterator<Item = FrameId> + 'a {
        let mut next = self.stack;
        std::iter::from_fn(move || {
            let (frame, caller) = self.traces.call(next)?;
            next = caller;
            Some(frame)
        })
    }

    /// Returns the innermost frame.
    pub fn first(self) -> Option<FrameId> {
        self.iter().next()
    }

    /// Counts the frames.
    pub fn len(self) -> usize {
        self.iter().count()
    }

    /// Returns true if the stack has no frame.
    pub fn is_empty(self) -> bool {
        self.first().is_none()
    }

    /// Returns the place of the stack in its profile.
    pub fn id(self) -> StackId {
        self.stack
    }
}

impl PartialEq for FramePath<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for FramePath<'_> {}

impl std::fmt::Debug for FramePath<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// The traces of a profile. Their stacks are one tree, in which each frame knows its caller: stacks that
/// begin with the same calls share these.
///
/// A table that finds a stack or a trace again is filled when one is looked up: most profiles are only read.
#[derive(Clone, Debug)]
pub struct Traces {
    /// The tree. A caller lies before what it calls; the first has no frame.
    calls: Vec<Call>,
    /// Places in `calls`, of the first of them.
    by_call: HashTable<u32>,
    traces: Vec<Stored>,
    /// Places in `traces`, of the first of them.
    by_content: HashTable<u32>,
    /// Places in `traces`; empty as long as the numbers count from the first one.
    by_serial: FxHashMap<TraceSerial, u32>,
    /// The largest number that was given.
    last: u32,
}

/// A frame and the stack that it was called at.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Call {
    frame: FrameId,
    caller: StackId,
}

impl Call {
    fn hash(&self) -> u64 {
        hash(self.caller.0, self.frame.0)
    }
}

/// A trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Stored {
    serial: TraceSerial,
    thread: ThreadSerial,
    stack: StackId,
}

impl Stored {
    fn hash(&self) -> u64 {
        hash(self.thread.0, self.stack.0)
    }
}

impl Default for Traces {
    fn default() -> Self {
        Self {
            calls: vec![Call { frame: FrameId(0), caller: StackId::EMPTY }],
            by_call: HashTable::new(),
            traces: Vec::new(),
            by_content: HashTable::new(),
            by_serial: FxHashMap::default(),
            last: 0,
        }
    }
}

/// Adds the entries to a table that it does not have: it has the places of the first ones.
fn complete<T>(table: &mut HashTable<u32>, entries: &[T], hash: impl Fn(&T) -> u64) {
    let known = table.len();
    let of_place = |place: &u32| hash(&entries[*place as usize]);
    if known < entries.len() {
        table.reserve(entries.len() - known, of_place);
    }
    for (place, entry) in (known as u32..).zip(&entries[known..]) {
        table.insert_unique(hash(entry), place, of_place);
    }
}

impl Traces {
    /// Returns the stack of `caller` with a frame more. A caller that is not in the tree counts as empty.
    pub fn push(&mut self, caller: StackId, frame: FrameId) -> StackId {
        let call = self.call_of(caller, frame);
        // The stack without frames is in the table too, but no call equals it there.
        complete(&mut self.by_call, &self.calls, Call::hash);
        let is_it = |place: &u32| *place > 0 && self.calls[*place as usize] == call;
        match self.by_call.find(call.hash(), is_it) {
            Some(place) => StackId(*place),
            None => self.add_stack(caller, frame),
        }
    }

    /// Returns the same for a stack that is not in the tree yet.
    pub fn add_stack(&mut self, caller: StackId, frame: FrameId) -> StackId {
        let call = self.call_of(caller, frame);
        self.calls.push(call);
        StackId(self.calls.len() as u32 - 1)
    }

    fn call_of(&self, caller: StackId, frame: FrameId) -> Call {
        Call { frame, caller: if self.has(caller) { caller } else { StackId::EMPTY } }
    }

    /// Returns the stack of these frames, innermost first.
    pub fn stack(&mut self, frames: &[FrameId]) -> StackId {
        frames.iter().rev().fold(StackId::EMPTY, |caller, frame| self.push(caller, *frame))
    }

    /// Returns the number of the trace with these frames, innermost first, in this thread; the next number if it
    /// is new.
    pub fn intern(&mut self, thread: ThreadSerial, frames: &[FrameId]) -> TraceSerial {
        let stack = self.stack(frames);
        self.intern_stack(thread, stack)
    }

    /// Returns the number of the trace of this stack in this thread; the next number if it is new.
    pub fn intern_stack(&mut self, thread: ThreadSerial, stack: StackId) -> TraceSerial {
        complete(&mut self.by_content, &self.traces, Stored::hash);
        let is_it = |place: &u32| {
            let stored = &self.traces[*place as usize];
            stored.thread == thread && stored.stack == stack
        };
        if let Some(place) = self.by_content.find(hash(thread.0, stack.0), is_it) {
            return self.traces[*place as usize].serial;
        }
        let serial = TraceSerial(self.last.saturating_add(1));
        self.insert_stack(serial, thread, stack);
        serial
    }

    /// Adds a trace under the number that it has in a file. One that has this number is replaced.
    pub fn insert(&mut self, serial: TraceSerial, thread: ThreadSerial, frames: &[FrameId]) {
        let stack = self.stack(frames);
        self.insert_stack(serial, thread, stack);
    }

    fn insert_stack(&mut self, serial: TraceSerial, thread: ThreadSerial, stack: StackId) {
        let stored = Stored { serial, thread, stack };
        match self.place(serial) {
            Some(place) => {
                self.traces[place] = stored;
                self.by_content.clear();
            }
            None => self.add(stored),
        }
    }

    /// Adds the stacks and traces that the original has more than this copy.
    pub fn catch_up(&mut self, original: &Self) {
        self.calls.extend(original.calls.iter().skip(self.calls.len()));
        original.traces.iter().skip(self.traces.len()).for_each(|stored| self.add(*stored));
    }

    /// Forgets the threads of all traces. Equal stacks keep their numbers.
    pub fn merge_threads(&mut self) {
        for stored in &mut self.traces {
            stored.thread = ThreadSerial(0);
        }
        self.by_content.clear();
    }

    fn add(&mut self, stored: Stored) {
        let first = self.traces.first().map_or(stored.serial.0, |trace| trace.serial.0);
        let counts_on = self.by_serial.is_empty()
            && u64::from(stored.serial.0) == u64::from(first) + self.traces.len() as u64;
        if !counts_on && self.by_serial.is_empty() {
            let places = (0..).zip(&self.traces).map(|(place, trace)| (trace.serial, place));
            self.by_serial = places.collect();
        }
        if !counts_on {
            self.by_serial.insert(stored.serial, self.traces.len() as u32);
        }
        self.last = self.last.max(stored.serial.0);
        self.traces.push(stored);
    }

    fn place(&self, serial: TraceSerial) -> Option<usize> {
        if !self.by_serial.is_empty() {
            return self.by_serial.get(&serial).map(|place| *place as usize);
        }
        let place = serial.0.checked_sub(self.traces.first()?.serial.0)? as usize;
        (place < self.traces.len()).then_some(place)
    }

    /// Returns the trace with this number.
    pub fn get(&self, serial: TraceSerial) -> Option<Trace<'_>> {
        Some(self.trace(&self.traces[self.place(serial)?]))
    }

    /// Returns the frames of the trace with this number; none if there is no such trace.
    pub fn frames_of(&self, serial: TraceSerial) -> FramePath<'_> {
        self.get(serial).map_or(self.path(StackId::EMPTY), |trace| trace.frames)
    }

    /// Returns the frames of a stack.
    pub fn path(&self, stack: StackId) -> FramePath<'_> {
        FramePath { traces: self, stack }
    }

    /// Returns the innermost frame of a stack and the stack that it was called at. None of the empty stack, and
    /// of one that is not in the tree.
    pub fn call(&self, stack: StackId) -> Option<(FrameId, StackId)> {
        let call = self.calls.get(stack.0 as usize).filter(|_| stack != StackId::EMPTY)?;
        Some((call.frame, call.caller))
    }

    /// Returns true if the stack is in the tree.
    pub fn has(&self, stack: StackId) -> bool {
        (stack.0 as usize) < self.calls.len()
    }

    /// Returns the number of stacks, with the empty one; their places are 0 to one less.
    pub fn stacks(&self) -> usize {
        self.calls.len()
    }

    /// Returns the number of frames of each stack.
    pub fn depths(&self) -> Vec<u32> {
        let mut depths = vec![0; self.calls.len()];
        for (place, call) in self.calls.iter().enumerate().skip(1) {
            depths[place] = depths[call.caller.0 as usize] + 1;
        }
        depths
    }

    /// Returns the rank of each stack in a walk through the tree in which a stack precedes those that it has called,
    /// and its callees follow it before the next one.
    pub fn ranks(&self) -> Vec<u32> {
        // The number of stacks from this one on, up to the rank of each.
        let mut ranks = vec![1; self.calls.len()];
        for (place, call) in self.calls.iter().enumerate().skip(1).rev() {
            ranks[call.caller.0 as usize] += ranks[place];
        }
        let mut next = vec![1; self.calls.len()];
        ranks[0] = 0;
        for (place, call) in self.calls.iter().enumerate().skip(1) {
            let rank = next[call.caller.0 as usize];
            next[call.caller.0 as usize] += ranks[place];
            (ranks[place], next[place]) = (rank, rank + 1);
        }
        ranks
    }

    /// Returns all traces in the order in which they were added.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Trace<'_>> {
        self.traces.iter().map(|stored| self.trace(stored))
    }

    /// Removes the traces for which `keep` returns false. The others keep their numbers.
    pub fn retain(&mut self, keep: impl Fn(TraceSerial) -> bool) {
        let all = std::mem::take(&mut self.traces);
        self.by_content.clear();
        self.by_serial.clear();
        all.into_iter().filter(|stored| keep(stored.serial)).for_each(|stored| self.add(stored));
    }

    /// Returns the number of traces.
    #[allow(clippy::len_without_is_empty, reason = "few profiles have none")]
    pub fn len(&self) -> usize {
        self.traces.len()
    }

    fn trace(&self, stored: &Stored) -> Trace<'_> {
        let Stored { serial, thread, stack } = *stored;
        Trace { serial, thread, frames: self.path(stack) }
    }
}

fn hash(a: u32, b: u32) -> u64 {
    FxBuildHasher.hash_one((a, b))
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
        assert!(traces.frames_of(TraceSerial(1)).iter().eq([a, b]));
        assert!(traces.get(TraceSerial(4)).unwrap().frames.is_empty());
        assert_eq!(traces.get(TraceSerial(5)), None);
    }

    #[test]
    fn a_copy_finds_what_the_original_has() {
        let (mut original, mut copy) = (Traces::default(), Traces::default());
        let (thread, stack) = (ThreadSerial(0), |n: u32| [FrameId(n), FrameId(n / 3), FrameId(0)]);
        for n in 0..100 {
            let trace = original.intern(thread, &stack(n));
            copy.catch_up(&original);
            if n % 10 == 0 {
                assert_eq!(copy.intern(thread, &stack(n / 2)), TraceSerial(n / 2 + 1));
                assert_eq!(copy.intern(thread, &stack(n)), trace);
            }
        }
        assert_eq!((copy.stacks(), copy.len()), (original.stacks(), 100));
        copy.merge_threads();
        copy.retain(|trace| trace.0 > 50);
        assert_eq!(copy.intern(thread, &stack(99)), TraceSerial(100));
        assert_eq!(copy.intern(thread, &stack(0)), TraceSerial(101));
    }

    #[test]
    fn a_number_of_a_file_that_comes_again_means_the_later_trace() {
        let mut traces = Traces::default();
        let thread = ThreadSerial(0);
        traces.insert(TraceSerial(5), thread, &[FrameId(1)]);
        traces.insert(TraceSerial(5), thread, &[FrameId(2)]);
        assert!(traces.frames_of(TraceSerial(5)).iter().eq([FrameId(2)]));
        assert_eq!(traces.len(), 1);
        assert_eq!(traces.intern(thread, &[FrameId(3)]), TraceSerial(6));
    }

    #[test]
    fn ranks_keep_the_callees_of_a_stack_together() {
        let mut traces = Traces::default();
        let empty = StackId::EMPTY;
        let [a, b] = [1, 2].map(|frame| traces.push(empty, FrameId(frame)));
        let [below_b, below_a] = [b, a].map(|caller| traces.push(caller, FrameId(3)));
        let last = traces.push(below_a, FrameId(4));
        let (ranks, depths) = (traces.ranks(), traces.depths());
        let in_order = [empty, a, below_a, last, b, below_b].map(|stack| stack.0 as usize);
        assert_eq!(in_order.map(|stack| ranks[stack]), [0, 1, 2, 3, 4, 5]);
        assert_eq!(in_order.map(|stack| depths[stack]), [0, 1, 2, 3, 1, 2]);
    }

    #[test]
    fn stacks_share_the_calls_that_they_begin_with() {
        let mut traces = Traces::default();
        let frames: Vec<_> = (0..100).map(FrameId).collect();
        traces.intern(ThreadSerial(0), &frames);
        traces.intern(ThreadSerial(0), &frames[1..]);
        traces.intern(ThreadSerial(1), &frames);
        assert_eq!(traces.stacks(), 101);
        let mut other = frames.clone();
        other[0] = FrameId(7);
        let trace = traces.intern(ThreadSerial(0), &other);
        assert_eq!(traces.stacks(), 102);
        assert!(traces.frames_of(trace).iter().eq(other));
    }

    #[test]
    fn a_caller_that_is_not_in_the_tree_counts_as_empty() {
        let mut traces = Traces::default();
        let stack = traces.push(StackId(9), FrameId(1));
        assert!(traces.path(stack).iter().eq([FrameId(1)]));
        assert!(traces.path(StackId(77)).is_empty());
    }
}
