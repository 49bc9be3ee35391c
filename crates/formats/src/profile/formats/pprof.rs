//! The format of pprof: `profile.proto` of github.com/google/pprof, compressed.

use super::made_frames::{NO_FRAMES, thread_name};
use crate::profile::model::{FrameId, Line, NameId, Profile, ThreadSerial, WallState};
use crate::profile::weight::{Stack, Weight, stacks};
use flate2::Compression;
use flate2::write::GzEncoder;
use indexmap::{IndexMap, IndexSet};
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::io::{self, Write};

/// The numbers of the fields of `Profile` and of the messages in it.
mod field {
    pub const SAMPLE_TYPE: u32 = 1;
    pub const SAMPLE: u32 = 2;
    pub const LOCATION: u32 = 4;
    pub const FUNCTION: u32 = 5;
    pub const STRING_TABLE: u32 = 6;
    pub const TIME_NANOS: u32 = 9;
    pub const DURATION_NANOS: u32 = 10;
    pub const PERIOD_TYPE: u32 = 11;
    pub const PERIOD: u32 = 12;
    pub const DEFAULT_SAMPLE_TYPE: u32 = 14;

    pub mod value_type {
        pub const TYPE: u32 = 1;
        pub const UNIT: u32 = 2;
    }
    pub mod sample {
        pub const LOCATION_ID: u32 = 1;
        pub const VALUE: u32 = 2;
        pub const LABEL: u32 = 3;
    }
    pub mod label {
        pub const KEY: u32 = 1;
        pub const STR: u32 = 2;
    }
    pub mod location {
        pub const ID: u32 = 1;
        pub const LINE: u32 = 4;
    }
    pub mod line {
        pub const FUNCTION_ID: u32 = 1;
        pub const LINE: u32 = 2;
    }
    pub mod function {
        pub const ID: u32 = 1;
        pub const NAME: u32 = 2;
        pub const SYSTEM_NAME: u32 = 3;
        pub const FILENAME: u32 = 4;
    }
}

/// Returns the name of a weight. It follows the custom of Go's profiles, which servers know.
fn type_and_unit(weight: Weight) -> [&'static str; 2] {
    match weight {
        Weight::CpuSamples => ["samples", "count"],
        Weight::WallSamples => ["wall_samples", "count"],
        Weight::CpuTime => ["cpu", "nanoseconds"],
        Weight::AllocatedBytes => ["alloc_space", "bytes"],
        Weight::AllocatedObjects => ["alloc_objects", "count"],
        Weight::LiveBytes => ["inuse_space", "bytes"],
        Weight::LiveObjects => ["inuse_objects", "count"],
        Weight::MonitorTime => ["delay", "nanoseconds"],
    }
}

pub fn write(profile: &Profile, weight: Weight, out: &mut dyn Write) -> io::Result<()> {
    let mut weights = Weight::of(profile);
    if !weights.contains(&weight) {
        weights.push(weight);
    }
    let mut out = GzEncoder::new(out, Compression::default());
    Builder::default().profile(profile, &weights, weight, &mut out)?;
    out.finish()?;
    Ok(())
}

/// A function: what it is called, also with its signature, and the file of its source.
type Function = [String; 3];

#[derive(Default)]
struct Builder {
    strings: IndexSet<String, FxBuildHasher>,
    functions: IndexSet<Function, FxBuildHasher>,
    /// Functions' places and lines.
    locations: IndexSet<(usize, u32), FxBuildHasher>,
}

impl Builder {
    /// Writes the message piece by piece: all samples of a large profile together would be too much to keep.
    fn profile(
        mut self,
        profile: &Profile,
        weights: &[Weight],
        weight: Weight,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        self.string("");
        let mut message = Message::default();
        for weight in weights {
            let value_type = self.value_type(type_and_unit(*weight));
            message.message(field::SAMPLE_TYPE, &value_type);
        }
        // A stack is one sample with all of its weights.
        let mut samples: IndexMap<_, (Stack<'_>, Vec<u64>), FxBuildHasher> = IndexMap::default();
        for (place, weight) in weights.iter().enumerate() {
            for stack in stacks(profile, *weight) {
                let key = (stack.thread, stack.frames.id(), stack.subject.clone());
                let value = stack.value;
                let sample = samples.entry(key);
                let values = &mut sample.or_insert_with(|| (stack, vec![0; weights.len()])).1;
                values[place] = value;
            }
        }
        out.write_all(&message.0)?;
        let mut of_frames = FxHashMap::default();
        for (Stack { thread, frames, subject, state, .. }, values) in samples.values() {
            let mut sample = Message::default();
            let mut locations = Vec::new();
            locations.extend(subject.as_ref().map(|name| self.named(name)));
            locations.extend(frames.iter().filter_map(|id| {
                let new = || self.location_of(profile, id);
                *of_frames.entry(id).or_insert_with(new)
            }));
            if locations.is_empty() {
                locations.push(self.named(NO_FRAMES));
            }
            sample.packed(field::sample::LOCATION_ID, &locations);
            sample.packed(field::sample::VALUE, values);
            let is_named = *thread != ThreadSerial(0);
            let thread =
                is_named.then(|| thread_name(profile, *thread).unwrap_or("<unknown thread>"));
            let labels = [("thread", thread), ("state", state.map(WallState::name))];
            for (key, value) in labels {
                let Some(value) = value else { continue };
                let mut label = Message::default();
                label.number(field::label::KEY, self.string(key));
                label.number(field::label::STR, self.string(value));
                sample.message(field::sample::LABEL, &label);
            }
            let mut message = Message::default();
            message.message(field::SAMPLE, &sample);
            out.write_all(&message.0)?;
        }
        let mut message = Message::default();
        self.tables(&mut message);
        let ends = profile.sections.iter().filter_map(crate::profile::Section::at);
        let duration = ends.max().map_or(0, |end| end.since(profile.created).as_nanos() as u64);
        message.number(field::TIME_NANOS, profile.created.0.saturating_mul(1_000_000));
        message.number(field::DURATION_NANOS, duration);
        if let Some(interval) = profile.cpu_samples().find_map(|samples| samples.interval) {
            let is_wall = weights.contains(&Weight::WallSamples);
            let period_type = [if is_wall { "wall" } else { "cpu" }, "nanoseconds"];
            let period_type = self.value_type(period_type);
            message.message(field::PERIOD_TYPE, &period_type);
            message.number(field::PERIOD, interval.as_nanos() as u64);
        }
        let [default_type, _] = type_and_unit(weight);
        message.number(field::DEFAULT_SAMPLE_TYPE, self.string(default_type));
        // Last, as all that is above adds to it; the order of fields is free.
        for string in &self.strings {
            message.bytes(field::STRING_TABLE, string.as_bytes());
        }
        out.write_all(&message.0)
    }

    /// Returns the location of a frame.
    fn location_of(&mut self, profile: &Profile, id: FrameId) -> Option<u64> {
        let (frame, method) = profile.frame(id)?;
        let name = |id: NameId| profile.names.get(id);
        let called = format!("{}.{}", name(method.class), name(method.name));
        let with_signature = format!("{called}{}", name(method.signature));
        let function = [called, with_signature, name(method.source).to_owned()];
        let line = if let Line::Number(line) = frame.line { line } else { 0 };
        Some(self.location(function, line))
    }

    /// Writes the functions and locations. Their numbers count from 1.
    fn tables(&mut self, message: &mut Message) {
        for (id, (function, line)) in (1..).zip(&self.locations) {
            let mut lines = Message::default();
            lines.number(field::line::FUNCTION_ID, *function as u64 + 1);
            lines.number(field::line::LINE, u64::from(*line));
            let mut location = Message::default();
            location.number(field::location::ID, id);
            location.message(field::location::LINE, &lines);
            message.message(field::LOCATION, &location);
        }
        for (id, names) in (1..).zip(std::mem::take(&mut self.functions)) {
            let [name, system_name, filename] = names.map(|text| self.string(&text));
            let mut function = Message::default();
            function.number(field::function::ID, id);
            function.number(field::function::NAME, name);
            function.number(field::function::SYSTEM_NAME, system_name);
            function.number(field::function::FILENAME, filename);
            message.message(field::FUNCTION, &function);
        }
    }

    fn value_type(&mut self, [kind, unit]: [&str; 2]) -> Message {
        let mut message = Message::default();
        message.number(field::value_type::TYPE, self.string(kind));
        message.number(field::value_type::UNIT, self.string(unit));
        message
    }

    fn string(&mut self, text: &str) -> u64 {
        let place = self.strings.get_index_of(text);
        place.unwrap_or_else(|| self.strings.insert_full(text.to_owned()).0) as u64
    }

    fn location(&mut self, function: Function, line: u32) -> u64 {
        let (function, _) = self.functions.insert_full(function);
        self.locations.insert_full((function, line)).0 as u64 + 1
    }

    /// Returns the location of a name that is not a method.
    fn named(&mut self, name: &str) -> u64 {
        self.location([name.to_owned(), name.to_owned(), String::new()], 0)
    }
}

/// A message of protocol buffers that is written.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// Writes a number. 0 is not written, because readers take a missing number as 0.
    fn number(&mut self, field: u32, value: u64) {
        if value != 0 {
            self.varint(u64::from(field) << 3);
            self.varint(value);
        }
    }

    fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn message(&mut self, field: u32, message: &Self) {
        self.bytes(field, &message.0);
    }

    fn packed(&mut self, field: u32, values: &[u64]) {
        let mut body = Self::default();
        values.iter().for_each(|value| body.varint(*value));
        self.message(field, &body);
    }
}
