//! The data of the page: the content of one profile, or of two side by side, as columns of numbers that
//! its scripts read. A column with data of each profile is a list with one entry per profile.

mod code;
mod heap;
mod monitors;
mod shared;
mod stacks;
mod threads;

use jvmpi_formats::profile::Profile;
use serde::Serialize;

use crate::{Input, Recording};
use code::Code;
use heap::Heap;
use monitors::Dump;
use shared::Shared;
use stacks::{Calls, Table, microseconds};
use threads::Threads;

/// Everything on the page.
#[derive(Serialize)]
pub(crate) struct Data<'a> {
    profiles: Vec<Header<'a>>,
    strings: Vec<String>,
    code: Code,
    threads: Threads,
    tables: Vec<Table>,
    calls: Vec<Calls>,
    monitor_dumps: Vec<Vec<Dump>>,
    heaps: Vec<Option<Heap>>,
}

/// The properties of a file.
#[derive(Serialize)]
struct Header<'a> {
    name: &'a str,
    /// Milliseconds since 1970.
    created: u64,
    problem: Option<&'a str>,
    recording: Option<Recorded<'a>>,
    /// The maximum number of frames of a trace.
    depth: usize,
    traces: usize,
    frames: usize,
    classes: usize,
}

/// The [`Recording`] of a profile. Times are microseconds.
#[derive(Serialize)]
struct Recorded<'a> {
    command: &'a str,
    pid: Option<u32>,
    java: Option<&'a str>,
    microseconds: u64,
    interval: Option<u64>,
    /// Bytes.
    alloc_interval: Option<u32>,
}

impl<'a> Recorded<'a> {
    fn of(recording: &'a Recording) -> Recorded<'a> {
        Recorded {
            command: &recording.command,
            pid: recording.pid,
            java: recording.java.as_deref(),
            microseconds: microseconds(recording.duration),
            interval: recording.interval.map(microseconds),
            alloc_interval: recording.alloc_interval,
        }
    }
}

impl<'a> Data<'a> {
    pub(crate) fn of(inputs: &[Input<'a>]) -> Data<'a> {
        let strings = code::Strings::of_runs(inputs.len());
        let mut shared = Shared { strings, ..Shared::default() };
        for (number, input) in inputs.iter().enumerate() {
            shared.threads.add(&mut shared.strings, number, input.profile);
        }
        let profiles: Vec<&Profile> = inputs.iter().map(|input| input.profile).collect();
        let intervals = inputs.iter().map(|input| input.recording?.interval).collect::<Vec<_>>();
        let tables = stacks::tables(&mut shared, &profiles, &intervals);
        let calls = profiles.iter().map(|profile| Calls::of(&mut shared, profile)).collect();
        let monitor_dumps = profiles.iter().enumerate();
        let monitor_dumps = monitor_dumps
            .map(|(number, profile)| monitors::dumps(&mut shared, number, profile))
            .collect();
        let heaps = inputs
            .iter()
            .enumerate()
            .map(|(number, input)| input.heap.map(|graph| Heap::of(&mut shared, number, graph)));
        let heaps = heaps.collect();
        let threads = Threads::of(&mut shared, &profiles);
        Data {
            profiles: inputs.iter().map(Header::of).collect(),
            strings: shared.strings.into(),
            code: shared.code.into(),
            threads,
            tables,
            calls,
            monitor_dumps,
            heaps,
        }
    }
}

impl<'a> Header<'a> {
    fn of(input: &Input<'a>) -> Header<'a> {
        let profile = input.profile;
        Header {
            name: input.name,
            created: profile.created.0,
            problem: input.problem,
            recording: input.recording.map(Recorded::of),
            depth: profile.traces.iter().map(|trace| trace.frames.len()).max().unwrap_or(0),
            traces: profile.traces.len(),
            frames: profile.frames.len(),
            classes: profile.classes.iter().len(),
        }
    }
}
