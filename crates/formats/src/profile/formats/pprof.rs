//! The format of pprof: `profile.proto` of github.com/google/pprof, compressed.

use super::measures::{Family, Kind, Measure, Period, start_and_duration};
use super::protobuf::Message;
use super::symbols::{Symbols, labels};
use crate::profile::model::Profile;
use crate::profile::weight::{Stack, Weight, stacks};
use flate2::Compression;
use flate2::write::GzEncoder;
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
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
        /// The quantity. The unit follows.
        pub const TYPE: u32 = 1;
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

/// Writes all weights. Readers show `weight` first.
pub fn write(profile: &Profile, weight: Weight, out: &mut dyn Write) -> io::Result<()> {
    let mut weights = Weight::of(profile);
    if !weights.contains(&weight) {
        weights.push(weight);
    }
    let measures: Vec<_> = weights.iter().copied().map(Measure::of).collect();
    // A file has one period. That of a sampled time lets readers compute times.
    let sampled = weights.iter().find(|weight| Measure::time(**weight, profile).is_some());
    let period = Period::of(*sampled.unwrap_or(&weight), profile);
    let [default_type, _] = Measure::of(weight).kind;
    write_measures(profile, &measures, period, default_type, out)
}

/// Writes the weights of a family, as Pyroscope expects them. Returns false, with nothing written, if there are none.
///
/// # Errors
///
/// Returns the errors of `out`.
pub fn write_family(profile: &Profile, family: Family, out: &mut dyn Write) -> io::Result<bool> {
    let mut weights = Weight::of(profile);
    weights.retain(|weight| Family::of(*weight) == family);
    let Some(first) = weights.first() else { return Ok(false) };
    let mut measures: Vec<_> = weights.iter().copied().map(Measure::of).collect();
    let mut default = Measure::of(*first);
    if let Some(time) = Measure::time(*first, profile) {
        match family {
            // Pyroscope recognizes elapsed time by this name alone.
            Family::Wall => measures[0] = time,
            // Measured time has the same name.
            _ if weights.contains(&Weight::CpuTime) => {}
            _ => measures.push(time),
        }
        default = time;
    }
    let [default_type, _] = default.kind;
    write_measures(profile, &measures, Period::of(*first, profile), default_type, out)?;
    Ok(true)
}

/// Writes the message piece by piece: all samples of a large profile together would be too much to keep.
fn write_measures(
    profile: &Profile,
    measures: &[Measure],
    period: Period,
    default_type: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut out = GzEncoder::new(out, Compression::default());
    let mut symbols = Symbols::default();
    let mut message = Message::default();
    for measure in measures {
        let value_type = value_type(&mut symbols, measure.kind);
        message.message(field::SAMPLE_TYPE, &value_type);
    }
    // A stack is one sample with all of its weights.
    let mut samples: IndexMap<_, (Stack<'_>, Vec<u64>), FxBuildHasher> = IndexMap::default();
    for (place, measure) in measures.iter().enumerate() {
        for stack in stacks(profile, measure.weight) {
            let key = (stack.thread, stack.frames.id(), stack.subject.clone());
            let value = measure.value(stack.value);
            let sample = samples.entry(key);
            let values = &mut sample.or_insert_with(|| (stack, vec![0; measures.len()])).1;
            values[place] = value;
        }
    }
    out.write_all(&message.0)?;
    for (stack, values) in samples.values() {
        let mut sample = Message::default();
        sample.packed(field::sample::LOCATION_ID, &symbols.stack(profile, stack));
        sample.packed(field::sample::VALUE, values);
        for (key, value) in ["thread", "state"].into_iter().zip(labels(profile, stack)) {
            let Some(value) = value else { continue };
            let mut label = Message::default();
            label.number(field::label::KEY, symbols.string(key));
            label.number(field::label::STR, symbols.string(value));
            sample.message(field::sample::LABEL, &label);
        }
        let mut message = Message::default();
        message.message(field::SAMPLE, &sample);
        out.write_all(&message.0)?;
    }
    let mut message = Message::default();
    tables(&symbols, &mut message);
    let [start, duration] = start_and_duration(profile);
    message.number(field::TIME_NANOS, start);
    message.number(field::DURATION_NANOS, duration);
    let period_type = value_type(&mut symbols, period.kind);
    message.message(field::PERIOD_TYPE, &period_type);
    message.number(field::PERIOD, period.value);
    message.number(field::DEFAULT_SAMPLE_TYPE, symbols.string(default_type));
    // Last, as all that is above adds to it; the order of fields is free.
    for string in symbols.strings() {
        message.bytes(field::STRING_TABLE, string.as_bytes());
    }
    out.write_all(&message.0)?;
    out.finish()?;
    Ok(())
}

/// Returns the message for a quantity and its unit.
fn value_type(symbols: &mut Symbols, kind: Kind) -> Message {
    let mut message = Message::default();
    for (field, name) in (field::value_type::TYPE..).zip(kind) {
        message.number(field, symbols.string(name));
    }
    message
}

/// Writes the locations and functions.
fn tables(symbols: &Symbols, message: &mut Message) {
    for (id, (function, number)) in symbols.locations() {
        let mut line = Message::default();
        line.number(field::line::FUNCTION_ID, function);
        line.number(field::line::LINE, number.into());
        let mut location = Message::default();
        location.number(field::location::ID, id);
        location.message(field::location::LINE, &line);
        message.message(field::LOCATION, &location);
    }
    for (id, [name, system_name, filename]) in symbols.functions() {
        let mut function = Message::default();
        function.number(field::function::ID, id);
        function.number(field::function::NAME, name);
        function.number(field::function::SYSTEM_NAME, system_name);
        function.number(field::function::FILENAME, filename);
        message.message(field::FUNCTION, &function);
    }
}
