//! The data that all parts of the page share.

use jvmpi_formats::profile::{Profile, StackId, ThreadSerial, TraceSerial};
use rustc_hash::FxHashMap;

use super::code::{Nodes, Strings};

/// The value for "none" in a column of indices.
pub(super) const NONE: i32 = -1;

/// The data that all parts share while they are built.
#[derive(Default)]
pub(super) struct Shared {
    pub(super) strings: Strings,
    pub(super) code: Nodes,
    pub(super) threads: Merged,
}

impl Shared {
    /// Returns the node of a trace and the index of the thread that it belongs to.
    pub(super) fn place(
        &mut self,
        number: usize,
        profile: &Profile,
        trace: TraceSerial,
    ) -> (u32, i32) {
        self.place_of_stack(number, profile, trace, profile.traces.frames_of(trace).id())
    }

    /// Returns the same for a stack that is a part of the trace.
    pub(super) fn place_of_stack(
        &mut self,
        number: usize,
        profile: &Profile,
        trace: TraceSerial,
        stack: StackId,
    ) -> (u32, i32) {
        let node = self.code.of_stack(&mut self.strings, number, profile, stack);
        let thread = profile.traces.get(trace).map_or(ThreadSerial(0), |trace| trace.thread);
        (node, self.threads.index(number, thread))
    }
}

/// The threads of all profiles. Threads of two profiles are the same if they have the same name and group. Several
/// threads with the same name and group are matched in their order.
#[derive(Default)]
pub(super) struct Merged {
    /// Name and group.
    pub(super) threads: Vec<(u32, u32)>,
    pub(super) indices: FxHashMap<(usize, ThreadSerial), usize>,
    of_name: FxHashMap<(u32, u32), Vec<usize>>,
}

impl Merged {
    /// Adds the threads of a profile.
    pub(super) fn add(&mut self, strings: &mut Strings, number: usize, profile: &Profile) {
        let mut seen: FxHashMap<(u32, u32), usize> = FxHashMap::default();
        for thread in profile.threads.values() {
            let [name, group] =
                [thread.name, thread.group].map(|name| strings.number(profile.names.get(name)));
            let seen = seen.entry((name, group)).or_default();
            let same = self.of_name.entry((name, group)).or_default();
            if *seen == same.len() {
                same.push(self.threads.len());
                self.threads.push((name, group));
            }
            self.indices.insert((number, thread.serial), same[*seen]);
            *seen += 1;
        }
    }

    /// Returns the index of a profile's thread, or −1 if it has none of this number.
    pub(super) fn index(&self, number: usize, thread: ThreadSerial) -> i32 {
        self.indices.get(&(number, thread)).map_or(NONE, |&index| index as i32)
    }
}
