//! The threads of all profiles.

use jvmpi_formats::profile::Profile;
use serde::{Deserialize, Serialize};

use super::shared::Shared;

/// The threads as columns of the page.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Threads {
    pub(super) name: Vec<u32>,
    pub(super) group: Vec<u32>,
    /// For each profile: the thread's number, or 0 if the profile lacks it.
    pub(super) serial: Vec<Vec<u32>>,
    /// For each profile: true if the thread has ended.
    pub(super) ended: Vec<Vec<bool>>,
    /// For each profile: milliseconds since 1970, or 0 if not known.
    pub(super) started: Vec<Vec<u64>>,
    /// For each profile: the node where the thread was started.
    pub(super) node: Vec<Vec<u32>>,
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
