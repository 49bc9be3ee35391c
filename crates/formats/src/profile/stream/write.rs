//! Writes a stream.

use super::{DumpKind, Message, Row, VERSION};
use crate::profile::model::{
    ClassSerial, CpuTime, CpuTimes, FrameId, MethodId, NameId, Profile, Section, StackId,
    StackTime, ThreadSerial,
};
use crate::profile::writer::{Writer, unsupported};
use rustc_hash::FxHashSet;
use std::borrow::Cow;
use std::io::{self, Write};
use std::mem;

/// Writes a profile as a stream. Of the names, methods and classes only those are written that something else
/// names.
#[derive(Debug)]
pub struct StreamWriter<W> {
    out: W,
    buffer: Vec<u8>,
    names: FxHashSet<NameId>,
    methods: FxHashSet<MethodId>,
    classes: FxHashSet<ClassSerial>,
    /// The number of entries of the profile's tables that are written.
    frames: usize,
    stacks: usize,
    traces: usize,
}

impl<W: Write> StreamWriter<W> {
    /// Returns a writer that has written the beginning of the stream, with the number of this process.
    ///
    /// # Errors
    /// Returns the errors of `out`.
    pub fn new(out: W, profile: &Profile) -> io::Result<Self> {
        let mut writer = Self {
            out,
            buffer: Vec::new(),
            names: FxHashSet::default(),
            methods: FxHashSet::default(),
            classes: FxHashSet::default(),
            frames: 0,
            stacks: 1,
            traces: 0,
        };
        let (created, process) = (profile.created, std::process::id());
        writer.send(&Message::Begin { version: VERSION, created, process })?;
        Ok(writer)
    }

    /// Returns the writer below.
    pub fn into_inner(self) -> W {
        self.out
    }

    fn send(&mut self, message: &Message<'_>) -> io::Result<()> {
        let mut buffer = mem::take(&mut self.buffer);
        buffer.clear();
        self.buffer = postcard::to_extend(message, buffer).map_err(io::Error::other)?;
        self.out.write_all(&self.buffer)
    }

    fn row(&mut self, row: Row) -> io::Result<()> {
        self.send(&Message::Row(row))
    }

    /// Writes names that are not written yet.
    fn names<const N: usize>(&mut self, profile: &Profile, names: [NameId; N]) -> io::Result<()> {
        for name in names {
            if name != NameId::EMPTY && self.names.insert(name) {
                self.send(&Message::Name(name, profile.names.get(name)))?;
            }
        }
        Ok(())
    }

    /// Writes a method that is not written yet.
    fn method(&mut self, profile: &Profile, id: MethodId) -> io::Result<()> {
        if !self.methods.insert(id) {
            return Ok(());
        }
        let method = profile.methods.get(id).unwrap_or_default();
        self.names(profile, [method.class, method.name, method.signature, method.source])?;
        self.send(&Message::Method(id, method))
    }

    /// Writes a class that is not written yet.
    fn class(&mut self, profile: &Profile, class: ClassSerial) -> io::Result<()> {
        let Some(class) = profile.classes.get(class) else { return Ok(()) };
        if !self.classes.insert(class.serial) {
            return Ok(());
        }
        self.names(profile, [class.name])?;
        self.send(&Message::Class(*class))
    }
}

impl<W: Write> Writer for StreamWriter<W> {
    fn thread_start(&mut self, profile: &Profile, thread: ThreadSerial) -> io::Result<()> {
        let Some(thread) = profile.threads.get(&thread) else { return Ok(()) };
        self.names(profile, [thread.name, thread.group, thread.parent_group])?;
        self.send(&Message::ThreadStart(*thread))
    }

    fn thread_end(&mut self, _: &Profile, thread: ThreadSerial) -> io::Result<()> {
        self.send(&Message::ThreadEnd(thread))
    }

    fn traces(&mut self, profile: &Profile) -> io::Result<()> {
        for place in mem::replace(&mut self.frames, profile.frames.len())..profile.frames.len() {
            let frame = profile.frames.get(FrameId(place as u32)).ok_or_else(invalid)?;
            self.method(profile, frame.method)?;
            self.send(&Message::Frame(frame))?;
        }
        for place in
            mem::replace(&mut self.stacks, profile.traces.stacks())..profile.traces.stacks()
        {
            let call = profile.traces.call(StackId(place as u32));
            let (frame, caller) = call.ok_or_else(invalid)?;
            self.send(&Message::Stack(frame, caller))?;
        }
        let written = mem::replace(&mut self.traces, profile.traces.len());
        for trace in profile.traces.iter().skip(written) {
            self.send(&Message::Trace(trace.serial, trace.thread, trace.frames.id()))?;
        }
        Ok(())
    }

    fn section(&mut self, profile: &Profile, section: &Section) -> io::Result<()> {
        if let Section::CpuTimes(times) = section {
            let mut rows = times.rows.iter().map(|row| {
                let CpuTime { trace, own, calls } = *row;
                let thread = profile.traces.get(trace).map(|trace| trace.thread);
                let stack = profile.traces.frames_of(trace).id();
                StackTime { thread: thread.unwrap_or_default(), stack, own, calls }
            });
            return self.stack_times(profile, times, &mut rows).map(|_| ());
        }
        if !self.holds(section) {
            return Err(unsupported(&format!("a stream has no {}", section.name())));
        }
        self.traces(profile)?;
        self.send(&Message::Section(Cow::Borrowed(section)))?;
        match section {
            Section::Sites(sites) => {
                for row in &sites.rows {
                    self.class(profile, row.class)?;
                    self.row(Row::Site(*row))?;
                }
            }
            Section::CpuSamples(samples) => {
                for row in &samples.rows {
                    self.row(Row::CpuSample(*row))?;
                }
                for row in &samples.timeline.rows {
                    self.row(Row::Bucket(*row))?;
                }
            }
            Section::MonitorTimes(times) => {
                for row in &times.rows {
                    self.names(profile, [row.monitor.name()])?;
                    self.row(Row::MonitorTime(*row))?;
                }
            }
            Section::MonitorDump(dump) => {
                for row in &dump.threads {
                    self.row(Row::Thread(*row))?;
                }
                for row in &dump.monitors {
                    self.names(profile, [row.monitor.name()])?;
                    self.row(Row::Monitor(row.clone()))?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn holds(&self, section: &Section) -> bool {
        !matches!(section, Section::HeapDump(_) | Section::CpuOld(_))
    }

    fn stack_times(
        &mut self,
        profile: &Profile,
        times: &CpuTimes,
        rows: &mut dyn Iterator<Item = StackTime>,
    ) -> io::Result<bool> {
        self.traces(profile)?;
        let CpuTimes { at, total, over, .. } = *times;
        let head = Section::CpuTimes(CpuTimes { at, total, over, rows: Vec::new() });
        self.send(&Message::Section(Cow::Owned(head)))?;
        for row in rows {
            self.row(Row::StackTime(row))?;
        }
        Ok(true)
    }

    fn end_dump(&mut self, kind: DumpKind) -> io::Result<()> {
        self.send(&Message::EndOfDump(kind))
    }

    fn note(&mut self, what: &str) -> io::Result<bool> {
        self.send(&Message::Note(what)).map(|()| true)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn invalid() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the tables of the profile have become shorter")
}
