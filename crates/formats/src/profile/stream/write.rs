//! Writes a stream.

use super::{DumpKind, PIECE, VERSION, tag};
use crate::profile::model::{
    Amount, ClassSerial, CpuTime, CpuTimes, FrameId, HeapDump, MethodId, Monitor, NameId, Profile,
    Section, Site, StackId, StackTime, ThreadSerial, ThreadState, Time, TraceSerial,
};
use crate::profile::writer::{EachRecord, Writer};
use rustc_hash::FxHashSet;
use std::io::{self, Write};
use std::time::Duration;

/// Writes a profile as a stream. Of the names, methods and classes only those are written that something else
/// names.
#[derive(Debug)]
pub struct StreamWriter<W> {
    out: W,
    names: Numbers,
    methods: Numbers,
    /// The number of entries of the profile's tables that are written.
    frames: usize,
    stacks: usize,
    traces: usize,
    classes: FxHashSet<ClassSerial>,
}

/// The numbers of what is written, by the places in the profile; 0 of what is not.
#[derive(Debug, Default)]
struct Numbers {
    numbers: Vec<u32>,
    last: u32,
}

impl Numbers {
    /// Returns the number of the entry at this place, and true if the number is new.
    fn of(&mut self, place: u32) -> (u32, bool) {
        let place = place as usize;
        if self.numbers.len() <= place {
            self.numbers.resize(place + 1, 0);
        }
        let number = &mut self.numbers[place];
        let is_new = *number == 0;
        if is_new {
            self.last += 1;
            *number = self.last;
        }
        (*number, is_new)
    }
}

impl<W: Write> StreamWriter<W> {
    /// Returns a writer that has written the beginning of the stream, with the number of this process.
    ///
    /// # Errors
    /// Returns the errors of `out`.
    pub fn new(out: W, profile: &Profile) -> io::Result<Self> {
        let mut writer = Self {
            out,
            names: Numbers::default(),
            methods: Numbers::default(),
            frames: 0,
            stacks: 1,
            traces: 0,
            classes: FxHashSet::default(),
        };
        writer.record(
            tag::BEGIN,
            &Body::of(&[VERSION, profile.created.0, std::process::id().into()]),
        )?;
        Ok(writer)
    }

    /// Returns the writer below.
    pub fn into_inner(self) -> W {
        self.out
    }

    fn record(&mut self, tag: u8, body: &Body) -> io::Result<()> {
        let mut head = Body(vec![tag]);
        head.number(body.0.len() as u64);
        self.out.write_all(&head.0)?;
        self.out.write_all(&body.0)
    }

    /// Writes rows, as many in a record as it has room for.
    fn rows<T>(
        &mut self,
        tag: u8,
        rows: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Self, &mut Body, T) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut body = Body::default();
        for row in rows {
            write(self, &mut body, row)?;
            if body.0.len() >= PIECE {
                self.record(tag, &body)?;
                body.0.clear();
            }
        }
        if body.0.is_empty() { Ok(()) } else { self.record(tag, &body) }
    }

    /// Returns the number of a name, which is written before.
    fn name(&mut self, profile: &Profile, name: NameId) -> io::Result<u64> {
        if name == NameId::EMPTY {
            return Ok(0);
        }
        let (number, is_new) = self.names.of(name.0);
        if is_new {
            let bytes = profile.names.get(name).as_bytes();
            self.record(tag::NAME, &Body(bytes.to_vec()))?;
        }
        Ok(number.into())
    }

    /// Returns the number of a method, which is written before.
    fn method(&mut self, profile: &Profile, method: MethodId) -> io::Result<u64> {
        let (number, is_new) = self.methods.of(method.0);
        if is_new {
            let method = profile.methods.get(method).unwrap_or_default();
            let mut body = Body::default();
            for name in [method.class, method.name, method.signature, method.source] {
                body.number(self.name(profile, name)?);
            }
            self.record(tag::METHODS, &body)?;
        }
        Ok(number.into())
    }

    fn class(&mut self, profile: &Profile, class: ClassSerial) -> io::Result<()> {
        let Some(class) = profile.classes.get(class) else { return Ok(()) };
        if self.classes.insert(class.serial) {
            let name = self.name(profile, class.name)?;
            let body = Body::of(&[class.serial.0.into(), class.object.0, name]);
            self.record(tag::CLASS, &body)?;
        }
        Ok(())
    }

    fn monitor(&mut self, profile: &Profile, body: &mut Body, monitor: Monitor) -> io::Result<()> {
        let (kind, id, name) = match monitor {
            Monitor::Java { object, class } => (0, object, class),
            Monitor::Raw { id, name } => (1, id, name),
        };
        let name = self.name(profile, name)?;
        body.numbers(&[kind, id.0, name]);
        Ok(())
    }
}

impl<W: Write> Writer for StreamWriter<W> {
    fn thread_start(&mut self, profile: &Profile, thread: ThreadSerial) -> io::Result<()> {
        let Some(thread) = profile.threads.get(&thread) else { return Ok(()) };
        let mut body = Body::of(&[thread.serial.0.into(), thread.object.0]);
        for name in [thread.name, thread.group, thread.parent_group] {
            body.number(self.name(profile, name)?);
        }
        body.time(thread.started);
        self.record(tag::THREAD_START, &body)
    }

    fn thread_end(&mut self, _: &Profile, thread: ThreadSerial) -> io::Result<()> {
        self.record(tag::THREAD_END, &Body::of(&[thread.0.into()]))
    }

    fn class_unload(&mut self, _: &Profile, _: ClassSerial) -> io::Result<()> {
        Ok(())
    }

    fn traces(&mut self, profile: &Profile) -> io::Result<()> {
        let frames = self.frames..profile.frames.len();
        self.frames = frames.end;
        self.rows(tag::FRAMES, frames, |writer, body, place| {
            let frame = profile.frames.get(FrameId(place as u32));
            let Some(frame) = frame else { return Err(invalid()) };
            let method = writer.method(profile, frame.method)?;
            // From 0.
            body.numbers(&[method, (i64::from(frame.line.code()) + 3) as u64]);
            Ok(())
        })?;
        let stacks = self.stacks..profile.traces.stacks();
        self.stacks = stacks.end;
        self.rows(tag::STACKS, stacks, |_, body, place| {
            let stack = StackId(place as u32);
            let Some((frame, caller)) = profile.traces.call(stack) else { return Err(invalid()) };
            // Most callers have just been written, so that the difference is small.
            body.numbers(&[(stack.0 - caller.0).into(), frame.0.into()]);
            Ok(())
        })?;
        let traces = profile.traces.iter().skip(self.traces);
        self.traces = profile.traces.len();
        self.rows(tag::TRACES, traces, |_, body, trace| {
            let (serial, thread) = (trace.serial.0, trace.thread.0);
            body.numbers(&[serial.into(), thread.into(), trace.frames.id().0.into()]);
            Ok(())
        })
    }

    fn section(&mut self, profile: &Profile, section: &Section) -> io::Result<()> {
        if !self.holds(section) {
            let what = format!("a stream has no {}", section.name());
            return Err(io::Error::new(io::ErrorKind::Unsupported, what));
        }
        self.traces(profile)?;
        let mut head = Body::default();
        head.time(section.at());
        match section {
            Section::Sites(sites) => {
                let flags = [sites.by_allocation, sites.incremental, sites.after_gc];
                head.numbers(&flags.map(u64::from));
                head.number(sites.cutoff.to_bits().into());
                head.amount(sites.live);
                head.amount(sites.allocated);
                self.record(tag::SITES, &head)?;
                self.rows(tag::SITE_ROWS, &sites.rows, |writer, body, row| {
                    let Site { class, array_of, trace, live, allocated } = *row;
                    writer.class(profile, class)?;
                    let array_of = array_of.map_or(0, |elements| elements as u64);
                    body.numbers(&[class.0.into(), array_of]);
                    body.trace(trace);
                    body.amount(live);
                    body.amount(allocated);
                    Ok(())
                })
            }
            Section::CpuSamples(samples) => {
                head.duration(samples.interval);
                head.number(samples.total);
                head.duration(Some(samples.timeline.bucket));
                self.record(tag::SAMPLES, &head)?;
                self.rows(tag::SAMPLE_ROWS, &samples.rows, |_, body, row| {
                    body.trace(row.trace);
                    body.numbers(&[row.samples, row.hits]);
                    Ok(())
                })?;
                self.rows(tag::TIMELINE_ROWS, &samples.timeline.rows, |_, body, row| {
                    body.number(row.bucket.into());
                    body.trace(row.trace);
                    body.number(row.samples);
                    Ok(())
                })
            }
            Section::CpuTimes(times) => {
                let mut rows = times.rows.iter().map(|row| {
                    let CpuTime { trace, own, calls } = *row;
                    let thread = profile.traces.get(trace).map(|trace| trace.thread);
                    let stack = profile.traces.frames_of(trace).id();
                    StackTime { thread: thread.unwrap_or_default(), stack, own, calls }
                });
                self.stack_times(profile, times, &mut rows).map(|_| ())
            }
            Section::MonitorTimes(times) => {
                head.number(nanos(times.total));
                self.record(tag::MONITOR_TIMES, &head)?;
                self.rows(tag::MONITOR_TIME_ROWS, &times.rows, |writer, body, row| {
                    writer.monitor(profile, body, row.monitor)?;
                    body.trace(row.trace);
                    body.numbers(&[row.hits, nanos(row.time)]);
                    Ok(())
                })
            }
            Section::MonitorDump(dump) => {
                self.record(tag::MONITOR_DUMP, &head)?;
                self.rows(tag::THREAD_STATUS_ROWS, &dump.threads, |_, body, row| {
                    let state = match row.state {
                        ThreadState::Runnable => 0,
                        ThreadState::MonitorWait => 1,
                        ThreadState::CondVarWait => 2,
                    };
                    body.number(row.thread.0.into());
                    body.trace(row.trace);
                    body.numbers(&[state, row.suspended.into(), row.interrupted.into()]);
                    Ok(())
                })?;
                self.rows(tag::MONITOR_STATUS_ROWS, &dump.monitors, |writer, body, row| {
                    writer.monitor(profile, body, row.monitor)?;
                    body.number(row.owner.map_or(0, |owner| u64::from(owner.0) + 1));
                    body.number(row.entry_count.into());
                    for threads in [&row.waiting_to_enter, &row.waiting_to_be_notified] {
                        body.number(threads.len() as u64);
                        threads.iter().for_each(|thread| body.number(thread.0.into()));
                    }
                    Ok(())
                })
            }
            Section::HeapSummary(summary) => {
                head.amount(summary.live);
                head.amount(summary.allocated);
                self.record(tag::HEAP_SUMMARY, &head)
            }
            Section::HeapDump(_) | Section::CpuOld(_) => Ok(()),
        }
    }

    fn heap_dump(
        &mut self,
        _: &Profile,
        _: &HeapDump,
        _: &mut dyn FnMut(&mut EachRecord<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "a stream has no heap dumps"))
    }

    fn holds(&self, section: &Section) -> bool {
        !matches!(section, Section::HeapDump(_) | Section::CpuOld(_))
    }

    fn needs_values(&self) -> bool {
        false
    }

    fn stack_times(
        &mut self,
        profile: &Profile,
        times: &CpuTimes,
        rows: &mut dyn Iterator<Item = StackTime>,
    ) -> io::Result<bool> {
        self.traces(profile)?;
        let mut head = Body::default();
        head.time(times.at);
        head.number(nanos(times.total));
        self.record(tag::TIMES, &head)?;
        self.rows(tag::TIME_ROWS, rows, |_, body, row| {
            body.numbers(&[row.thread.0.into(), row.stack.0.into(), nanos(row.own)]);
            body.number(row.calls);
            Ok(())
        })?;
        Ok(true)
    }

    fn end_dump(&mut self, kind: DumpKind) -> io::Result<()> {
        self.record(tag::END_OF_DUMP, &Body(vec![kind as u8]))
    }

    fn note(&mut self, what: &str) -> io::Result<bool> {
        self.record(tag::NOTE, &Body(what.as_bytes().to_vec())).map(|()| true)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn invalid() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the tables of the profile have become shorter")
}

/// The body of a record.
#[derive(Debug, Default)]
struct Body(Vec<u8>);

impl Body {
    fn of(numbers: &[u64]) -> Self {
        let mut body = Self::default();
        body.numbers(numbers);
        body
    }

    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn numbers(&mut self, numbers: &[u64]) {
        numbers.iter().for_each(|number| self.number(*number));
    }

    fn trace(&mut self, trace: TraceSerial) {
        self.number(trace.0.into());
    }

    fn amount(&mut self, amount: Amount) {
        self.numbers(&[amount.bytes, amount.instances]);
    }

    /// 0 is none.
    fn time(&mut self, time: Option<Time>) {
        self.number(time.map_or(0, |time| time.0.saturating_add(1)));
    }

    /// 0 is none.
    fn duration(&mut self, duration: Option<Duration>) {
        self.number(duration.map_or(0, |duration| nanos(duration).saturating_add(1)));
    }
}
