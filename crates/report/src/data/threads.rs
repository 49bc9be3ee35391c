//! The threads of all profiles. Threads of two profiles are the same if they have the same name and group.
//! Several threads with the same name and group are matched in their order.

use jvmpi_formats::profile::{Profile, ThreadSerial};
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::code::Strings;
use super::{NONE, Shared};

/// The threads as columns of the page.
#[derive(Default, Serialize)]
pub(super) struct Threads {
    name: Vec<u32>,
    group: Vec<u32>,
    /// For each profile: the thread's number, or 0 if the profile lacks it.
    serial: Vec<Vec<u32>>,
    /// For each profile: true if the thread has ended.
    ended: Vec<Vec<bool>>,
    /// For each profile: milliseconds since 1970, or 0 if not known.
    started: Vec<Vec<u64>>,
    /// For each profile: the node where the thread was started.
    node: Vec<Vec<u32>>,
}

/// The threads of all profiles, matched.
#[derive(Default)]
pub(super) struct Merged {
    /// Name and group.
    threads: Vec<(u32, u32)>,
    indices: FxHashMap<(usize, ThreadSerial), usize>,
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
    pub(super) fn index(&self, number: usize, thread: ThreadSerial) -> i64 {
        self.indices.get(&(number, thread)).map_or(NONE, |&index| index as i64)
    }
}

impl Threads {
    pub(super) fn of(shared: &mut Shared, profiles: &[&Profile]) -> Threads {
        let count = shared.threads.threads.len();
        let mut threads = Threads {
            name: shared.threads.threads.iter().map(|thread| thread.0).collect(),
            group: shared.threads.threads.iter().map(|thread| thread.1).collect(),
            serial: vec![vec![0; count]; profiles.len()],
            ended: vec![vec![false; count]; profiles.len()],
            started: vec![vec![0; count]; profiles.len()],
            node: vec![vec![0; count]; profiles.len()],
        };
        for (number, profile) in profiles.iter().enumerate() {
            for thread in profile.threads.values() {
                let Some(&index) = shared.threads.indices.get(&(number, thread.serial)) else {
                    continue;
                };
                threads.serial[number][index] = thread.serial.0;
                threads.ended[number][index] = thread.ended;
                threads.started[number][index] = thread.started.map_or(0, |time| time.0);
                threads.node[number][index] = shared.place(number, profile, thread.trace).0;
            }
        }
        threads
    }
}
