//! Reads a stream as it comes. The sender is not trusted: the stream may make no sense.

use super::{DumpKind, MOST, VERSION, tag};
use crate::profile::File;
use crate::profile::model::{
    Amount, BucketSamples, Class, ClassSerial, CpuSample, CpuSamples, CpuTime, CpuTimes, Frame,
    FrameId, HeapSummary, Line, Method, MethodId, Monitor, MonitorDump, MonitorStatus, MonitorTime,
    MonitorTimes, NameId, ObjectId, Profile, Section, Site, Sites, StackId, Thread, ThreadSerial,
    ThreadState, ThreadStatus, Time, Timeline, TraceSerial, Type,
};
use crate::profile::text::{PREAMBLE, preamble};
use rustc_hash::FxHashMap;
use std::mem;
use std::num::NonZeroU32;
use std::time::Duration;

/// Approximate limit of the memory for the tables and rows of a stream.
const MOST_HELD: usize = 2 << 30;
/// Approximate size of an entry of a table or of a row, without its name.
const ENTRY: usize = 64;

const OTHER_VERSION: &str = "libhprof.so and the command are not of the same version";

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
    /// The bytes of the next record that have arrived.
    rest: Vec<u8>,
    has_begun: bool,
    process: Option<u32>,
    profile: Profile,
    /// The tables, by the numbers of the stream, which count from 1; frames from 0.
    names: Vec<NameId>,
    methods: Vec<MethodId>,
    frames: Vec<FrameId>,
    stacks: Vec<StackId>,
    traces: FxHashMap<u32, TraceSerial>,
    /// The sections of the dump that is coming.
    dump: Vec<Section>,
    /// Approximate sizes of the tables and of the sections of the dump.
    held: usize,
    held_by_dump: usize,
}

/// The result of reading; the error says why a stream makes no sense.
type Result<T> = std::result::Result<T, String>;

impl StreamReader {
    /// Takes the next bytes, and passes on all complete records.
    ///
    /// # Errors
    /// Returns the reason if the bytes are malformed. The caller must not pass more bytes then.
    pub fn take(&mut self, bytes: &[u8], mut told: impl FnMut(StreamEvent)) -> Result<()> {
        self.rest.extend_from_slice(bytes);
        if !self.has_begun && self.rest.first().is_some_and(|tag| *tag != tag::BEGIN) {
            return Err(OTHER_VERSION.into());
        }
        let rest = mem::take(&mut self.rest);
        let mut done = 0;
        while let Some((tag, start, end)) = next_record(&rest, done)? {
            self.record(tag, Body(&rest[start..end]), &mut told)?;
            done = end;
            if self.held + self.held_by_dump > MOST_HELD {
                return Err(format!("the profile takes more than {} MiB", MOST_HELD >> 20));
            }
        }
        self.rest = rest;
        self.rest.drain(..done);
        Ok(())
    }

    /// Returns true if a record or a dump has begun but not ended.
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

    fn record(
        &mut self,
        tag: u8,
        mut body: Body<'_>,
        told: &mut impl FnMut(StreamEvent),
    ) -> Result<()> {
        if !self.has_begun {
            return self.begin(tag, body);
        }
        match tag {
            tag::BEGIN => return Err("the stream begins twice".into()),
            tag::NAME => {
                let name = String::from_utf8_lossy(body.0);
                self.held += name.len();
                let name = self.profile.names.intern(&name);
                self.names.push(name);
                self.held += ENTRY;
            }
            tag::NOTE => {
                // The caller keeps it.
                self.held += ENTRY + body.0.len();
                told(StreamEvent::Note(String::from_utf8_lossy(body.0).into_owned()));
            }
            tag::END_OF_DUMP => {
                let kind = body.number()? as usize;
                let kind = *DumpKind::ALL.get(kind).ok_or("there is no such kind of dump")?;
                // The caller keeps every dump, but only the newest snapshot.
                if kind != DumpKind::Snapshot {
                    self.held += self.held_by_dump;
                }
                self.held_by_dump = 0;
                let mut dump = mem::take(&mut self.dump);
                for section in &mut dump {
                    if let Section::CpuTimes(times) = section {
                        times.rank(0.0);
                    }
                }
                told(StreamEvent::Dump(dump, kind));
            }
            tag::SITES
            | tag::SAMPLES
            | tag::TIMES
            | tag::MONITOR_TIMES
            | tag::MONITOR_DUMP
            | tag::HEAP_SUMMARY => {
                let section = section(tag, &mut body)?;
                self.held_by_dump += ENTRY;
                self.dump.push(section);
            }
            _ => {
                while !body.0.is_empty() {
                    self.entry(tag, &mut body)?;
                }
            }
        }
        Ok(())
    }

    fn begin(&mut self, tag: u8, mut body: Body<'_>) -> Result<()> {
        if tag != tag::BEGIN || body.number()? != VERSION {
            return Err(OTHER_VERSION.into());
        }
        self.has_begun = true;
        self.profile.created = Time(body.number()?);
        self.process = u32::try_from(body.number()?).ok();
        self.profile.preamble = PREAMBLE.to_owned();
        Ok(())
    }

    /// Reads an entry of a table, or a row of the last section.
    fn entry(&mut self, tag: u8, body: &mut Body<'_>) -> Result<()> {
        match tag {
            tag::METHODS => {
                let [class, name, signature, source] = [(); 4].map(|()| self.name(body));
                let method =
                    Method { class: class?, name: name?, signature: signature?, source: source? };
                self.methods.push(self.profile.methods.intern(method));
            }
            tag::FRAMES => {
                let method = body.place()?;
                let known = method.checked_sub(1).and_then(|place| self.methods.get(place));
                let method = *known.ok_or_else(|| format!("there is no method {method}"))?;
                let code = i32::try_from(body.number()?).unwrap_or(0).saturating_sub(3);
                let frame = Frame { method, line: Line::from_code(code) };
                self.frames.push(self.profile.frames.intern(frame));
            }
            tag::STACKS => {
                let number = self.stacks.len() + 1;
                let caller = number.checked_sub(body.place()?);
                let caller = caller.filter(|caller| *caller < number);
                let caller = caller.ok_or("a stack has no caller")?;
                let frame = body.place()?;
                let frame = self.frames.get(frame).ok_or_else(|| format!("no frame {frame}"))?;
                let caller = self.stack(caller)?;
                self.stacks.push(self.profile.traces.push(caller, *frame));
            }
            tag::TRACES => {
                let serial = body.short()?;
                let trace = self.new_trace(body)?;
                self.traces.insert(serial, trace);
            }
            tag::THREAD_START => {
                let thread = Thread {
                    serial: ThreadSerial(body.short()?),
                    object: ObjectId(body.number()?),
                    name: self.name(body)?,
                    group: self.name(body)?,
                    parent_group: self.name(body)?,
                    trace: TraceSerial(0),
                    started: body.time()?,
                    ended: false,
                };
                self.profile.threads.insert(thread.serial, thread);
            }
            tag::THREAD_END => {
                let serial = ThreadSerial(body.short()?);
                if let Some(thread) = self.profile.threads.get_mut(&serial) {
                    thread.ended = true;
                }
            }
            tag::CLASS => {
                let class = Class {
                    serial: ClassSerial(body.short()?),
                    object: ObjectId(body.number()?),
                    name: self.name(body)?,
                    trace: TraceSerial(0),
                    unloaded: false,
                };
                self.profile.classes.insert(class);
            }
            _ => {
                self.held_by_dump += ENTRY;
                return self.row(tag, body);
            }
        }
        self.held += ENTRY;
        Ok(())
    }

    fn row(&mut self, tag: u8, body: &mut Body<'_>) -> Result<()> {
        let monitor = match tag {
            tag::MONITOR_TIME_ROWS | tag::MONITOR_STATUS_ROWS => Some(self.monitor(body)?),
            _ => None,
        };
        let new_trace = if tag == tag::TIME_ROWS { self.new_trace(body)? } else { TraceSerial(0) };
        let Self { dump, traces, .. } = self;
        match (tag, dump.last_mut(), monitor) {
            (tag::SITE_ROWS, Some(Section::Sites(sites)), _) => sites.rows.push(Site {
                class: ClassSerial(body.short()?),
                array_of: Type::from_code(body.number()? as u8),
                trace: body.trace(traces)?,
                live: body.amount()?,
                allocated: body.amount()?,
            }),
            (tag::SAMPLE_ROWS, Some(Section::CpuSamples(samples)), _) => {
                samples.rows.push(CpuSample {
                    trace: body.trace(traces)?,
                    samples: body.number()?,
                    hits: body.number()?,
                });
            }
            (tag::TIMELINE_ROWS, Some(Section::CpuSamples(samples)), _) => {
                samples.timeline.rows.push(BucketSamples {
                    bucket: body.short()?,
                    trace: body.trace(traces)?,
                    samples: body.number()?,
                });
            }
            (tag::TIME_ROWS, Some(Section::CpuTimes(times)), _) => times.rows.push(CpuTime {
                trace: new_trace,
                own: Duration::from_nanos(body.number()?),
                calls: body.number()?,
            }),
            (tag::MONITOR_TIME_ROWS, Some(Section::MonitorTimes(times)), Some(monitor)) => {
                times.rows.push(MonitorTime {
                    monitor,
                    trace: body.trace(traces)?,
                    hits: body.number()?,
                    time: Duration::from_nanos(body.number()?),
                });
            }
            (tag::THREAD_STATUS_ROWS, Some(Section::MonitorDump(dump)), _) => {
                dump.threads.push(ThreadStatus {
                    thread: ThreadSerial(body.short()?),
                    trace: body.trace(traces)?,
                    state: match body.number()? {
                        0 => ThreadState::Runnable,
                        1 => ThreadState::MonitorWait,
                        _ => ThreadState::CondVarWait,
                    },
                    suspended: body.number()? != 0,
                    interrupted: body.number()? != 0,
                });
            }
            (tag::MONITOR_STATUS_ROWS, Some(Section::MonitorDump(dump)), Some(monitor)) => {
                let status = MonitorStatus {
                    monitor,
                    owner: body.short()?.checked_sub(1).map(ThreadSerial),
                    entry_count: body.short()?,
                    waiting_to_enter: body.threads()?,
                    waiting_to_be_notified: body.threads()?,
                };
                let waiting = status.waiting_to_enter.len() + status.waiting_to_be_notified.len();
                self.held_by_dump += ENTRY + waiting * size_of::<ThreadSerial>();
                dump.monitors.push(status);
            }
            (tag, _, _) => return Err(format!("a record or row of kind {tag} is out of place")),
        }
        Ok(())
    }

    /// Returns the trace of a thread and a stack.
    fn new_trace(&mut self, body: &mut Body<'_>) -> Result<TraceSerial> {
        let (thread, stack) = (ThreadSerial(body.short()?), body.place()?);
        let stack = self.stack(stack)?;
        Ok(self.profile.traces.intern_stack(thread, stack))
    }

    fn monitor(&self, body: &mut Body<'_>) -> Result<Monitor> {
        let (kind, id) = (body.number()?, ObjectId(body.number()?));
        let name = self.name(body)?;
        Ok(match kind {
            0 => Monitor::Java { object: id, class: name },
            _ => Monitor::Raw { id, name },
        })
    }

    fn name(&self, body: &mut Body<'_>) -> Result<NameId> {
        match body.place()? {
            0 => Ok(NameId::EMPTY),
            number => {
                let name = self.names.get(number - 1);
                name.copied().ok_or_else(|| format!("there is no name {number}"))
            }
        }
    }

    fn stack(&self, number: usize) -> Result<StackId> {
        match number {
            0 => Ok(StackId::EMPTY),
            _ => {
                let stack = self.stacks.get(number - 1);
                stack.copied().ok_or_else(|| format!("there is no stack {number}"))
            }
        }
    }
}

/// Returns the tag of the record at `from`, and where its body begins and ends. None if it is not
/// whole.
fn next_record(bytes: &[u8], from: usize) -> Result<Option<(u8, usize, usize)>> {
    let Some((tag, rest)) = bytes[from..].split_first() else { return Ok(None) };
    let mut body = Body(rest);
    let length = match body.number() {
        Ok(length) => length,
        // The length is not whole.
        Err(_) if rest.len() < 10 => return Ok(None),
        Err(error) => return Err(error),
    };
    if length > MOST as u64 {
        return Err(format!("a record of {length} bytes is too long"));
    }
    let start = bytes.len() - body.0.len();
    let end = start + length as usize;
    Ok((end <= bytes.len()).then_some((*tag, start, end)))
}

fn section(tag: u8, body: &mut Body<'_>) -> Result<Section> {
    let at = body.time()?;
    Ok(match tag {
        tag::SITES => Section::Sites(Sites {
            at,
            by_allocation: body.number()? != 0,
            incremental: body.number()? != 0,
            after_gc: body.number()? != 0,
            cutoff: f32::from_bits(body.short()?),
            live: body.amount()?,
            allocated: body.amount()?,
            rows: Vec::new(),
        }),
        tag::SAMPLES => {
            let (interval, total) = (body.duration()?, body.number()?);
            let bucket = body.duration()?.unwrap_or_default();
            let timeline = Timeline { bucket, rows: Vec::new() };
            Section::CpuSamples(CpuSamples { at, interval, total, rows: Vec::new(), timeline })
        }
        tag::TIMES => {
            let total = Duration::from_nanos(body.number()?);
            Section::CpuTimes(CpuTimes { at, total, rows: Vec::new() })
        }
        tag::MONITOR_TIMES => {
            let total = Duration::from_nanos(body.number()?);
            Section::MonitorTimes(MonitorTimes { at, total, rows: Vec::new() })
        }
        tag::HEAP_SUMMARY => {
            let (live, allocated) = (body.amount()?, body.amount()?);
            Section::HeapSummary(HeapSummary { at, live, allocated })
        }
        _ => Section::MonitorDump(MonitorDump::default()),
    })
}

/// The rest of the body of a record.
struct Body<'a>(&'a [u8]);

impl Body<'_> {
    fn number(&mut self) -> Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first().ok_or("a record ends within a number")?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err("a number has more than 64 bits".into())
    }

    fn short(&mut self) -> Result<u32> {
        u32::try_from(self.number()?).map_err(|_| "a number has more than 32 bits".into())
    }

    fn place(&mut self) -> Result<usize> {
        self.short().map(|number| number as usize)
    }

    /// Returns the trace of a number; 0 is none.
    fn trace(&mut self, traces: &FxHashMap<u32, TraceSerial>) -> Result<TraceSerial> {
        match self.short()? {
            0 => Ok(TraceSerial(0)),
            number => {
                let trace = traces.get(&number);
                trace.copied().ok_or_else(|| format!("there is no trace {number}"))
            }
        }
    }

    fn amount(&mut self) -> Result<Amount> {
        Ok(Amount { bytes: self.number()?, instances: self.number()? })
    }

    fn time(&mut self) -> Result<Option<Time>> {
        Ok(self.number()?.checked_sub(1).map(Time))
    }

    fn duration(&mut self) -> Result<Option<Duration>> {
        Ok(self.number()?.checked_sub(1).map(Duration::from_nanos))
    }

    fn threads(&mut self) -> Result<Vec<ThreadSerial>> {
        let count = self.place()?;
        // Each has a byte at least.
        let mut threads = Vec::with_capacity(count.min(self.0.len()));
        for _ in 0..count {
            threads.push(ThreadSerial(self.short()?));
        }
        Ok(threads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::StreamWriter;
    use crate::profile::model::CpuSamples;
    use crate::profile::writer::Writer;

    /// Returns the memory that a reader counts after as many dumps of this kind, and then these bytes.
    fn held_after(kind: DumpKind, dumps: usize, more: &[u8]) -> usize {
        let profile = Profile::default();
        let mut writer = StreamWriter::new(Vec::new(), &profile).unwrap();
        for _ in 0..dumps {
            writer.section(&profile, &CpuSamples::default().into()).unwrap();
            writer.end_dump(kind).unwrap();
        }
        let mut reader = StreamReader::default();
        reader.take(&[&writer.into_inner(), more].concat(), |_| ()).unwrap();
        reader.held + reader.held_by_dump
    }

    #[test]
    fn dumps_and_notes_that_are_kept_count_as_held() {
        let snapshots = [1, 3].map(|dumps| held_after(DumpKind::Snapshot, dumps, b""));
        assert_eq!(snapshots[0], snapshots[1]);
        let dumps = [1, 3].map(|dumps| held_after(DumpKind::Dump, dumps, b""));
        assert!(dumps[0] < dumps[1], "{dumps:?}");
        let note = held_after(DumpKind::Dump, 1, &[tag::NOTE, 3, b'a', b'b', b'c']);
        assert!(dumps[0] + 3 <= note, "{dumps:?} {note}");
    }

    #[test]
    fn profile_that_takes_too_much_memory_is_refused() {
        let begin = StreamWriter::new(Vec::new(), &Profile::default()).unwrap().into_inner();
        let note = [tag::NOTE, 1, b'a'];
        let mut reader = StreamReader::default();
        reader.take(&begin, |_| ()).unwrap();
        reader.held = MOST_HELD / 2;
        reader.take(&note, |_| ()).unwrap();
        reader.held = MOST_HELD;
        let refusal = reader.take(&note, |_| ()).unwrap_err();
        assert_eq!(refusal, "the profile takes more than 2048 MiB");
    }
}
