//! Reads a stream as it comes. The sender is not trusted: the stream may make no sense.

use super::{DumpKind, MOST, Message, Row, VERSION};
use crate::profile::File;
use crate::profile::model::{
    CpuTime, FrameId, MethodId, NameId, Profile, Section, StackId, ThreadSerial, Time, TraceSerial,
};
use crate::profile::text::{PREAMBLE, preamble};
use rustc_hash::FxHashMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::mem;
use std::num::NonZeroU32;

/// Approximate limit of the memory for the tables and rows of a stream.
const MOST_HELD: usize = 2 << 30;
/// Approximate size of an entry of a table or of a row, without its name.
const ENTRY: usize = 64;

const OTHER_VERSION: &str = "HPROF's library and the command are not of the same version";

/// A part of a stream that has arrived as a whole.
#[derive(Debug)]
pub enum StreamEvent {
    /// All sections of a dump.
    Dump(Vec<Section>, DumpKind),
    /// One line for the user.
    Note(String),
}

/// Reads a stream.
#[derive(Debug, Default)]
pub struct StreamReader {
    /// The bytes of the next message that have arrived.
    rest: Vec<u8>,
    has_begun: bool,
    process: Option<u32>,
    profile: Profile,
    /// The tables, by the numbers of the sender. Frames are in their order. Stacks have the same numbers.
    names: FxHashMap<NameId, NameId>,
    methods: FxHashMap<MethodId, MethodId>,
    frames: Vec<FrameId>,
    traces: FxHashMap<TraceSerial, TraceSerial>,
    /// The sections of the dump that is coming.
    dump: Vec<Section>,
    /// Approximate sizes of the tables and of the sections of the dump.
    held: usize,
    held_by_dump: usize,
}

/// The result of reading; the error says why a stream makes no sense.
type Result<T> = std::result::Result<T, String>;

impl StreamReader {
    /// Takes the next bytes, and passes on what has arrived as a whole.
    ///
    /// # Errors
    /// Returns the reason if the bytes are malformed. The caller must not pass more bytes then.
    pub fn take(&mut self, bytes: &[u8], mut told: impl FnMut(StreamEvent)) -> Result<()> {
        self.rest.extend_from_slice(bytes);
        let bytes = mem::take(&mut self.rest);
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let message;
            (message, rest) = match postcard::take_from_bytes(rest) {
                Ok(next) => next,
                Err(postcard::Error::DeserializeUnexpectedEnd) if rest.len() <= MOST => break,
                Err(postcard::Error::DeserializeUnexpectedEnd) => {
                    return Err(format!("a message of more than {MOST} bytes is too long"));
                }
                Err(_) if !self.has_begun => return Err(OTHER_VERSION.into()),
                Err(error) => return Err(error.to_string()),
            };
            self.message(message, &mut told)?;
            if self.held + self.held_by_dump > MOST_HELD {
                return Err(format!("the profile takes more than {} MiB", MOST_HELD >> 20));
            }
        }
        self.rest.extend_from_slice(rest);
        Ok(())
    }

    /// Returns true if a message or a dump has begun but not ended.
    pub fn is_coming(&self) -> bool {
        !self.rest.is_empty() || !self.dump.is_empty()
    }

    /// Returns the process that writes the stream, by its number in its own namespace. None before the beginning has
    /// arrived.
    pub fn process(&self) -> Option<u32> {
        self.process
    }

    /// Returns the tables, without sections.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Passes a part of the run as a file of its own: the tables with these sections, which began at `since`.
    /// `sample` is the sampling interval of allocations, if any.
    pub fn part<T>(
        &mut self,
        since: Time,
        sample: Option<NonZeroU32>,
        sections: Vec<Section>,
        read: impl FnOnce(&File) -> T,
    ) -> T {
        let mut profile = mem::take(&mut self.profile);
        let created = mem::replace(&mut profile.created, since);
        let whole = mem::replace(&mut profile.preamble, preamble(sample));
        let none = mem::replace(&mut profile.sections, sections);
        let file = File::of_profile(profile);
        let result = read(&file);
        self.profile = file.into_profile();
        let profile = &mut self.profile;
        (profile.created, profile.preamble, profile.sections) = (created, whole, none);
        result
    }

    /// Takes the sections of a dump that has not ended.
    pub fn take_cut_off(&mut self) -> Vec<Section> {
        mem::take(&mut self.dump)
    }

    /// Returns the tables at the end of the data.
    pub fn into_profile(self) -> Profile {
        self.profile
    }

    fn message(&mut self, message: Message<'_>, told: &mut impl FnMut(StreamEvent)) -> Result<()> {
        match (mem::replace(&mut self.has_begun, true), &message) {
            (true, Message::Begin { .. }) => return Err("the stream begins twice".into()),
            (true, _) | (false, Message::Begin { version: VERSION, .. }) => {}
            (false, _) => return Err(OTHER_VERSION.into()),
        }
        match message {
            Message::Section(_) | Message::Row(_) => self.held_by_dump += ENTRY,
            Message::EndOfDump(_) => {}
            _ => self.held += ENTRY,
        }
        match message {
            Message::Begin { created, process, .. } => {
                self.profile.created = created;
                self.process = Some(process);
                self.profile.preamble = PREAMBLE.to_owned();
                self.names.insert(NameId::EMPTY, NameId::EMPTY);
                self.traces.insert(TraceSerial(0), TraceSerial(0));
            }
            Message::Name(id, name) => {
                self.held += name.len();
                self.names.insert(id, self.profile.names.intern(name));
            }
            Message::Method(id, mut method) => {
                for name in
                    [&mut method.class, &mut method.name, &mut method.signature, &mut method.source]
                {
                    translate(&self.names, name)?;
                }
                self.methods.insert(id, self.profile.methods.intern(method));
            }
            Message::Frame(mut frame) => {
                translate(&self.methods, &mut frame.method)?;
                self.frames.push(self.profile.frames.intern(frame));
            }
            Message::Stack(frame, caller) => {
                let known = self.frames.get(frame.0 as usize);
                let frame = *known.ok_or_else(|| unknown(frame))?;
                check(&self.profile, caller)?;
                self.profile.traces.add_stack(caller, frame);
            }
            Message::Trace(serial, thread, stack) => {
                check(&self.profile, stack)?;
                self.traces.insert(serial, self.profile.traces.intern_stack(thread, stack));
            }
            Message::ThreadStart(mut thread) => {
                for name in [&mut thread.name, &mut thread.group, &mut thread.parent_group] {
                    translate(&self.names, name)?;
                }
                self.profile.threads.insert(thread.serial, thread);
            }
            Message::ThreadEnd(serial) => {
                if let Some(thread) = self.profile.threads.get_mut(&serial) {
                    thread.ended = true;
                }
            }
            Message::Class(mut class) => {
                translate(&self.names, &mut class.name)?;
                self.profile.classes.insert(class);
            }
            Message::Section(section) => {
                if matches!(*section, Section::HeapDump(_) | Section::CpuOld(_)) {
                    return Err(format!("a stream has no {}", section.name()));
                }
                self.dump.push(section.into_owned());
            }
            Message::Row(row) => self.row(row)?,
            Message::EndOfDump(kind) => {
                // The caller keeps every dump, but only the newest snapshot.
                let held = mem::take(&mut self.held_by_dump);
                self.held += if kind == DumpKind::Snapshot { 0 } else { held };
                let mut dump = mem::take(&mut self.dump);
                for section in &mut dump {
                    if let Section::CpuTimes(times) = section {
                        times.rank(0.0);
                    }
                }
                told(StreamEvent::Dump(dump, kind));
            }
            Message::Note(note) => {
                // The caller keeps it.
                self.held += note.len();
                told(StreamEvent::Note(note.to_owned()));
            }
        }
        Ok(())
    }

    /// Adds a row to the last section.
    fn row(&mut self, row: Row) -> Result<()> {
        match (row, self.dump.last_mut()) {
            (Row::Site(mut row), Some(Section::Sites(sites))) => {
                translate(&self.traces, &mut row.trace)?;
                sites.rows.push(row);
            }
            (Row::CpuSample(mut row), Some(Section::CpuSamples(samples))) => {
                translate(&self.traces, &mut row.trace)?;
                samples.rows.push(row);
            }
            (Row::Bucket(mut row), Some(Section::CpuSamples(samples))) => {
                translate(&self.traces, &mut row.trace)?;
                samples.timeline.rows.push(row);
            }
            (Row::StackTime(row), Some(Section::CpuTimes(times))) => {
                check(&self.profile, row.stack)?;
                let trace = self.profile.traces.intern_stack(row.thread, row.stack);
                times.rows.push(CpuTime { trace, own: row.own, calls: row.calls });
            }
            (Row::MonitorTime(mut row), Some(Section::MonitorTimes(times))) => {
                translate(&self.traces, &mut row.trace)?;
                translate(&self.names, row.monitor.name_mut())?;
                times.rows.push(row);
            }
            (Row::Thread(mut row), Some(Section::MonitorDump(dump))) => {
                translate(&self.traces, &mut row.trace)?;
                dump.threads.push(row);
            }
            (Row::Monitor(mut row), Some(Section::MonitorDump(dump))) => {
                translate(&self.names, row.monitor.name_mut())?;
                let waiting = row.waiting_to_enter.len() + row.waiting_to_be_notified.len();
                self.held_by_dump += ENTRY + waiting * size_of::<ThreadSerial>();
                dump.monitors.push(row);
            }
            (row, _) => return Err(format!("a row is out of place: {row:?}")),
        }
        Ok(())
    }
}

fn check(profile: &Profile, stack: StackId) -> Result<()> {
    if profile.traces.has(stack) { Ok(()) } else { Err(unknown(stack)) }
}

/// Replaces a number of the sender by ours.
fn translate<T: Copy + Eq + Hash + Debug>(table: &FxHashMap<T, T>, id: &mut T) -> Result<()> {
    *id = *table.get(id).ok_or_else(|| unknown(*id))?;
    Ok(())
}

fn unknown(id: impl Debug) -> String {
    format!("{id:?} is not in the stream before")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::StreamWriter;
    use crate::profile::model::{CpuSample, CpuSamples, Frame, Line, Method};
    use crate::profile::writer::Writer;

    fn bytes(message: &Message<'_>) -> Vec<u8> {
        postcard::to_extend(message, Vec::new()).unwrap()
    }

    /// Returns the memory that a reader counts after as many dumps of this kind, and then these bytes.
    fn held_after(kind: DumpKind, dumps: usize, more: Vec<u8>) -> usize {
        let profile = Profile::default();
        let mut writer = StreamWriter::new(Vec::new(), &profile).unwrap();
        for _ in 0..dumps {
            writer.section(&profile, &CpuSamples::default().into()).unwrap();
            writer.end_dump(kind).unwrap();
        }
        let mut reader = StreamReader::default();
        reader.take(&[writer.into_inner(), more].concat(), |_| ()).unwrap();
        reader.held + reader.held_by_dump
    }

    #[test]
    fn dumps_and_notes_that_are_kept_count_as_held() {
        let snapshots = [1, 3].map(|dumps| held_after(DumpKind::Snapshot, dumps, Vec::new()));
        assert_eq!(snapshots[0], snapshots[1]);
        let dumps = [1, 3].map(|dumps| held_after(DumpKind::Dump, dumps, Vec::new()));
        assert!(dumps[0] < dumps[1], "{dumps:?}");
        let note = held_after(DumpKind::Dump, 1, bytes(&Message::Note("abc")));
        assert!(dumps[0] + 3 <= note, "{dumps:?} {note}");
    }

    #[test]
    fn profile_that_takes_too_much_memory_is_refused() {
        let begin = StreamWriter::new(Vec::new(), &Profile::default()).unwrap().into_inner();
        let note = bytes(&Message::Note("a"));
        let mut reader = StreamReader::default();
        reader.take(&begin, |_| ()).unwrap();
        reader.held = MOST_HELD / 2;
        reader.take(&note, |_| ()).unwrap();
        reader.held = MOST_HELD;
        let refusal = reader.take(&note, |_| ()).unwrap_err();
        assert_eq!(refusal, "the profile takes more than 2048 MiB");
    }

    #[test]
    fn contradictory_stream_is_an_error() {
        let (created, process) = (Time(0), 9);
        let begin = |version| bytes(&Message::Begin { version, created, process });
        let method = Method { name: NameId(9), ..Method::default() };
        let frame = Frame { method: MethodId(9), line: Line::Unknown };
        let row = Row::CpuSample(CpuSample { trace: TraceSerial(0), samples: 1, hits: 1 });
        let mut long = bytes(&Message::Name(NameId(1), ""));
        long.pop();
        long.extend([0xff, 0xff, 0xff, 0x7f]);
        long.resize(MOST + 2, b'a');
        for (message, expected) in [
            (bytes(&Message::Method(MethodId(1), method)), "NameId(9)"),
            (bytes(&Message::Frame(frame)), "MethodId(9)"),
            (bytes(&Message::Stack(FrameId(0), StackId::EMPTY)), "FrameId(0)"),
            (bytes(&Message::Trace(TraceSerial(1), ThreadSerial(1), StackId(5))), "StackId(5)"),
            (long, "too long"),
            (bytes(&Message::Row(row)), "out of place"),
            (begin(VERSION), "twice"),
            (vec![200, 1, 0], "Serde"),
        ] {
            let mut reader = StreamReader::default();
            let read = reader.take(&[begin(VERSION), message].concat(), |_| {});
            let error = read.expect_err(expected);
            assert!(error.contains(expected), "{error}");
        }
        for stream in [bytes(&Message::Note("")), begin(99), b"JAVA PROFILE 1.0.1".to_vec()] {
            assert!(StreamReader::default().take(&stream, |_| {}).is_err());
        }
    }
}
