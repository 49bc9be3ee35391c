//! The data of the page: the content of one profile, or of two side by side, as columns of numbers that
//! its scripts read. A column with data of each profile is a list with one entry per profile.
//!
//! [`read`] makes a profile of it again.

mod code;
mod column;
mod heap;
mod read;
mod shared;
mod stacks;
mod threads;

use jvmpi_formats::profile::{Profile, Trace};
use serde::{Deserialize, Serialize};

use crate::{Input, Recording};
use code::Code;
pub(crate) use column::DIGITS;
use heap::Heap;
pub(crate) use read::read;
use shared::Shared;
use stacks::Table;
use threads::Threads;

/// The name of the schema of the data.
const SCHEMA: &str = "jvmpi-report";

/// Its version: one more with each change that readers of the version before do not understand.
const VERSION: u32 = 1;

/// Everything on the page.
#[derive(Serialize, Deserialize)]
pub(crate) struct Data {
    schema: String,
    version: u32,
    profiles: Vec<Header>,
    strings: Vec<String>,
    code: Code,
    threads: Threads,
    tables: Vec<Table>,
    #[serde(skip_deserializing)]
    heaps: Vec<Option<Heap>>,
}

/// The properties of a file.
#[derive(Serialize, Deserialize)]
struct Header {
    name: String,
    /// Milliseconds since 1970.
    created: u64,
    problem: Option<String>,
    recording: Option<Recording>,
    /// The maximum number of frames of a trace.
    depth: usize,
    traces: usize,
    frames: usize,
    classes: usize,
    /// True if waits for monitors were recorded, even if there were none.
    monitors: bool,
}

impl Data {
    pub(crate) fn of(inputs: &[Input<'_>]) -> Data {
        let strings = code::Strings::of_runs(inputs.len());
        let mut shared = Shared { strings, ..Shared::default() };
        for (number, input) in inputs.iter().enumerate() {
            shared.threads.add(&mut shared.strings, number, input.profile);
        }
        let profiles: Vec<&Profile> = inputs.iter().map(|input| input.profile).collect();
        let intervals = inputs.iter().map(|input| input.recording?.interval).collect::<Vec<_>>();
        let tables = stacks::tables(&mut shared, &profiles, &intervals);
        let heaps = inputs
            .iter()
            .enumerate()
            .map(|(number, input)| input.heap.map(|graph| Heap::of(&mut shared, number, graph)));
        let heaps = heaps.collect();
        let threads = Threads::of(&mut shared, &profiles);
        Data {
            schema: SCHEMA.into(),
            version: VERSION,
            profiles: inputs.iter().map(Header::of).collect(),
            strings: shared.strings.into(),
            code: shared.code.into(),
            threads,
            tables,
            heaps,
        }
    }
}

impl Header {
    fn of(input: &Input<'_>) -> Header {
        let profile = input.profile;
        let depths = profile.traces.depths();
        let depth_of = |trace: Trace<'_>| depths[trace.frames.id().0 as usize] as usize;
        Header {
            name: input.name.to_owned(),
            created: profile.created.0,
            problem: input.problem.map(str::to_owned),
            recording: input.recording.cloned(),
            depth: profile.traces.iter().map(depth_of).max().unwrap_or(0),
            traces: profile.traces.len(),
            frames: profile.frames.len(),
            classes: profile.classes.iter().len(),
            monitors: profile.monitor_times().next().is_some(),
        }
    }
}
