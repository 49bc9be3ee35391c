//! Writes text.

use super::heading;
use crate::profile::heap::{
    Class, Instance, LAST_ID, Objects, Primitives, Record, Root, RootKind, array_name, type_name,
};
use crate::profile::model::{
    Amount, CpuOld, CpuSamples, CpuTimes, FrameId, HeapDump, Line, MethodId, Monitor, MonitorDump,
    MonitorTimes, ObjectId, Profile, Section, Sites, ThreadSerial, ThreadState, Time, TraceSerial,
    Value, qualified,
};
use crate::profile::printable;
use crate::profile::stream::DumpKind;
use crate::profile::writer::{EachRecord, Writer, unsupported};
use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use std::io::{self, Write};
use std::time::Duration;

/// Writes a profile as text.
#[derive(Debug)]
pub struct TextWriter<W> {
    out: W,
    /// The traces that are written.
    traces: FxHashSet<TraceSerial>,
    /// The lines of the frames in `traces`: many traces have the same frames.
    frames: FxHashMap<FrameId, Box<str>>,
    /// The classes of arrays by those of their elements, with their names.
    arrays: IndexMap<ObjectId, (ObjectId, String), FxBuildHasher>,
    /// True if threads are written; `cpu=old` has none.
    threads: bool,
}

impl<W: Write> TextWriter<W> {
    /// Returns a writer that has written the beginning of the file.
    pub fn new(mut out: W, profile: &Profile) -> io::Result<Self> {
        writeln!(out, "JAVA PROFILE 1.0.1, created {}\n", profile.created.to_text())?;
        out.write_all(profile.preamble.as_bytes())?;
        if !profile.preamble.is_empty() && !profile.preamble.ends_with('\n') {
            writeln!(out)?;
        }
        writeln!(out, "\n--------\n")?;
        Ok(Self { threads: true, ..Self::old(out) })
    }

    /// Returns a writer of the format of `cpu=old`, which has no beginning and no threads.
    pub fn old(out: W) -> Self {
        Self {
            out,
            traces: FxHashSet::default(),
            frames: FxHashMap::default(),
            arrays: IndexMap::default(),
            threads: false,
        }
    }

    /// Returns the writer below.
    pub fn into_inner(self) -> W {
        self.out
    }

    fn frames(&mut self, profile: &Profile, trace: TraceSerial) -> io::Result<()> {
        let Some(trace) = profile.traces.get(trace) else { return Ok(()) };
        if !self.traces.insert(trace.serial) {
            return Ok(());
        }
        write!(self.out, "TRACE {}:", trace.serial.0)?;
        if trace.thread != ThreadSerial(0) {
            write!(self.out, " (thread={})", trace.thread.0)?;
        }
        writeln!(self.out)?;
        if trace.frames.is_empty() {
            writeln!(self.out, "\t<empty>")?;
        }
        for id in trace.frames.iter() {
            let line = self.frames.entry(id).or_insert_with(|| frame_line(profile, id));
            self.out.write_all(line.as_bytes())?;
        }
        Ok(())
    }

    fn sites(&mut self, profile: &Profile, sites: &Sites) -> io::Result<()> {
        let order = if sites.by_allocation { "allocated bytes" } else { "live bytes" };
        writeln!(self.out, "SITES BEGIN (ordered by {order}) {}", at(sites.at))?;
        for line in heading::SITES {
            writeln!(self.out, "{line}")?;
        }
        let bytes = |live: Amount, allocated: Amount| {
            if sites.by_allocation { allocated.bytes } else { live.bytes }
        };
        let mut share = Share::of(bytes(sites.live, sites.allocated) as f64);
        for (rank, site) in (1..).zip(&sites.rows) {
            let (own, accumulated) = share.next(bytes(site.live, site.allocated) as f64);
            writeln!(
                self.out,
                "{rank:5} {own:5.2}% {accumulated:5.2}% {:9} {:4} {:9} {:5} {:5} {}",
                site.live.bytes,
                site.live.instances,
                site.allocated.bytes,
                site.allocated.instances,
                site.trace.0,
                printable(&profile.site_type(site)),
            )?;
        }
        writeln!(self.out, "SITES END")
    }

    fn cpu_samples(&mut self, profile: &Profile, samples: &CpuSamples) -> io::Result<()> {
        writeln!(self.out, "CPU SAMPLES BEGIN (total = {}) {}", samples.total, at(samples.at))?;
        let rows = samples.rows.iter().map(|row| (row.samples as f64, row.hits, row.trace));
        self.cpu_rows(profile, samples.total as f64, rows)?;
        writeln!(self.out, "CPU SAMPLES END")
    }

    fn cpu_times(&mut self, profile: &Profile, times: &CpuTimes) -> io::Result<()> {
        let total = times.total.as_millis();
        writeln!(self.out, "CPU TIME (ms) BEGIN (total = {total}) {}", at(times.at))?;
        let rows = times.rows.iter().map(|row| (row.own.as_secs_f64(), row.calls, row.trace));
        self.cpu_rows(profile, times.total.as_secs_f64(), rows)?;
        writeln!(self.out, "CPU TIME (ms) END")
    }

    /// Writes rows of CPU sections: the amount, the count and the trace.
    fn cpu_rows(
        &mut self,
        profile: &Profile,
        total: f64,
        rows: impl Iterator<Item = (f64, u64, TraceSerial)>,
    ) -> io::Result<()> {
        writeln!(self.out, "{}", heading::CPU)?;
        let mut share = Share::of(total);
        for (rank, (amount, count, trace)) in (1..).zip(rows) {
            self.ranked(rank, share.next(amount), count, trace)?;
            let innermost = profile.traces.frames_of(trace).first();
            match innermost.and_then(|id| profile.frame(id)) {
                Some((_, method)) => {
                    let [class, name] =
                        [method.class, method.name].map(|name| printable(profile.names.get(name)));
                    writeln!(self.out, " {}", qualified(class, name))?;
                }
                None => writeln!(self.out, " <empty trace>")?,
            }
        }
        Ok(())
    }

    /// The columns that rows of CPU and monitor sections have in common.
    fn ranked(
        &mut self,
        rank: u32,
        (own, accumulated): (f64, f64),
        count: u64,
        trace: TraceSerial,
    ) -> io::Result<()> {
        write!(self.out, "{rank:4} {own:5.2}% {accumulated:5.2}% {count:7} {:5}", trace.0)
    }

    fn cpu_old(&mut self, profile: &Profile, old: &CpuOld) -> io::Result<()> {
        writeln!(self.out, "{}", heading::CPU_OLD)?;
        for call in &old.rows {
            let callee = method_name(profile, call.callee, "<unknown callee>");
            let caller = method_name(profile, call.caller, "<unknown caller>");
            writeln!(self.out, "{} {callee} {caller} {}", call.count, call.time.as_millis())?;
        }
        Ok(())
    }

    fn monitor_times(&mut self, profile: &Profile, times: &MonitorTimes) -> io::Result<()> {
        let total = times.total.as_millis();
        writeln!(self.out, "MONITOR TIME BEGIN (total = {total} ms) {}", at(times.at))?;
        if times.total > Duration::ZERO {
            writeln!(self.out, "{}", heading::MONITOR_TIME)?;
            let mut share = Share::of(times.total.as_secs_f64());
            for (rank, row) in (1..).zip(&times.rows) {
                let shares = share.next(row.time.as_secs_f64());
                self.ranked(rank, shares, row.hits, row.trace)?;
                match row.monitor {
                    Monitor::Java { object, class } => {
                        let class = printable(profile.names.get(class));
                        writeln!(self.out, " {class}({:x}) (Java)", object.0)?;
                    }
                    Monitor::Raw { id, name } => {
                        let name = printable(profile.names.get(name));
                        writeln!(self.out, " \"{name}\"({:x}) (Raw)", id.0)?;
                    }
                }
            }
        }
        writeln!(self.out, "MONITOR TIME END")
    }

    fn monitor_dump(&mut self, profile: &Profile, dump: &MonitorDump) -> io::Result<()> {
        writeln!(self.out, "MONITOR DUMP BEGIN")?;
        for thread in &dump.threads {
            let suspended = if thread.suspended { "S|" } else { "" };
            let interrupted = if thread.interrupted { "intr|" } else { "" };
            let state = match thread.state {
                ThreadState::Runnable => "R",
                ThreadState::MonitorWait => "MW",
                ThreadState::CondvarWait => "CW",
            };
            writeln!(
                self.out,
                "    THREAD {}, trace {}, status: {suspended}{interrupted}{state}",
                thread.thread.0, thread.trace.0
            )?;
        }
        for status in &dump.monitors {
            match status.monitor {
                Monitor::Java { object, class } => {
                    let class = printable(profile.names.get(class));
                    write!(self.out, "    MONITOR {class}({:x})", object.0)?;
                }
                Monitor::Raw { id, name } => {
                    let name = printable(profile.names.get(name));
                    write!(self.out, "    RAW MONITOR \"{name}\"({:#x})", id.0)?;
                }
            }
            match status.owner {
                Some(owner) => write!(
                    self.out,
                    "\n\towner: {}, entry count: {}",
                    thread_name(owner),
                    status.entry_count
                )?,
                None => write!(self.out, " unowned")?,
            }
            self.waiting("waiting to enter", &status.waiting_to_enter)?;
            self.waiting("waiting to be notified", &status.waiting_to_be_notified)?;
            writeln!(self.out)?;
        }
        writeln!(self.out, "MONITOR DUMP END")
    }

    fn waiting(&mut self, what: &str, threads: &[ThreadSerial]) -> io::Result<()> {
        for (i, thread) in threads.iter().enumerate() {
            match i {
                0 => write!(self.out, "\n\t{what}: ")?,
                _ => write!(self.out, ", ")?,
            }
            write!(self.out, "{}", thread_name(*thread))?;
        }
        Ok(())
    }

    fn record(&mut self, profile: &Profile, record: &Record<'_>) -> io::Result<()> {
        match record {
            Record::Root(root) => self.root(root),
            Record::Class(class) => self.class(class),
            Record::Instance(instance) => self.instance(instance),
            Record::Objects(array) => self.objects(profile, array),
            Record::Primitives(array) => self.primitives(array),
        }
    }

    fn root(&mut self, root: &Root<'_>) -> io::Result<()> {
        write!(self.out, "ROOT {:x} (kind=", root.object.0)?;
        match root.kind {
            RootKind::Unknown => write!(self.out, "<unknown>")?,
            RootKind::JniGlobal { reference, trace } => {
                write!(self.out, "<JNI global ref>, id={reference:x}, trace={}", trace.0)?;
            }
            RootKind::JniLocal(place) | RootKind::JavaFrame(place) => {
                let is_local = matches!(root.kind, RootKind::JniLocal(_));
                let kind = if is_local { "JNI local ref" } else { "Java stack" };
                // The original writes -1 for a frame that is not known.
                let frame = place.frame.map_or(-1, i64::from);
                write!(self.out, "<{kind}>, thread={}, frame={frame}", place.thread.0)?;
            }
            RootKind::NativeStack(thread) => {
                write!(self.out, "<native stack>, thread={}", thread.0)?;
            }
            RootKind::StickyClass { name } => {
                write!(self.out, "<system class>, name={}", printable(&type_name(name)))?;
            }
            RootKind::ThreadBlock(thread) => {
                write!(self.out, "<thread block>, thread={}", thread.0)?;
            }
            RootKind::MonitorUsed => write!(self.out, "<busy monitor>")?,
            RootKind::ThreadObject { thread, trace } => {
                write!(self.out, "<thread>, id={}, trace={}", thread.0, trace.0)?;
            }
        }
        writeln!(self.out, ")")
    }

    fn class(&mut self, class: &Class<'_>) -> io::Result<()> {
        let name = type_name(class.name);
        let name = printable(&name);
        writeln!(self.out, "CLS {:x} (name={name}, trace={})", class.id.0, class.trace.0)?;
        for (what, object) in [
            ("super", class.superclass),
            ("loader", class.loader),
            ("signers", class.signers),
            ("domain", class.protection_domain),
        ] {
            if object != ObjectId(0) {
                writeln!(self.out, "\t{what}\t\t{:x}", object.0)?;
            }
        }
        for constant in class.constants {
            if let Some(object) = reference(constant.value) {
                writeln!(self.out, "\tconstant pool entry {}\t{:x}", constant.index, object.0)?;
            }
        }
        for field in class.statics {
            if let Some(object) = reference(field.value) {
                writeln!(self.out, "\tstatic {}\t{:x}", printable(field.name), object.0)?;
            }
        }
        Ok(())
    }

    fn instance(&mut self, instance: &Instance<'_>) -> io::Result<()> {
        writeln!(
            self.out,
            "OBJ {:x} (sz={}, trace={}, class={}@{:x})",
            instance.id.0,
            instance.size,
            instance.trace.0,
            printable(instance.class_name),
            instance.class.0
        )?;
        for field in instance.fields {
            if let Some(object) = reference(field.value) {
                let tab = if field.name.len() < 8 { "\t" } else { "" };
                writeln!(self.out, "\t{}\t{tab}{:x}", printable(field.name), object.0)?;
            }
        }
        Ok(())
    }

    /// Returns the class of an array. One that is not known gets an ID that no object has, as in binary files.
    fn array_class(&mut self, profile: &Profile, array: &Objects<'_>) -> ObjectId {
        if array.array_class != ObjectId(0) || array.class == ObjectId(0) {
            return array.array_class;
        }
        let next = ObjectId(LAST_ID - 16 * self.arrays.len() as u64);
        let new = || {
            let name = array_name(array.class_name);
            (profile.class_of_name(&name).unwrap_or(next), name)
        };
        self.arrays.entry(array.class).or_insert_with(new).0
    }

    fn objects(&mut self, profile: &Profile, array: &Objects<'_>) -> io::Result<()> {
        let class = self.array_class(profile, array);
        writeln!(
            self.out,
            "ARR {:x} (sz={}, trace={}, nelems={}, elem type={}@{:x})",
            array.id.0,
            array.size,
            array.trace.0,
            array.elements.length(),
            printable(&array.type_name()),
            class.0
        )?;
        for (index, object) in array.elements.iter() {
            writeln!(self.out, "\t[{index}]\t\t{:x}", object.0)?;
        }
        Ok(())
    }

    fn primitives(&mut self, array: &Primitives<'_>) -> io::Result<()> {
        writeln!(
            self.out,
            "ARR {:x} (sz={}, trace={}, nelems={}, elem type={}[])",
            array.id.0,
            array.size,
            array.trace.0,
            array.length,
            array.of_type.name()
        )
    }
}

impl<W: Write> Writer for TextWriter<W> {
    fn thread_start(&mut self, profile: &Profile, thread: ThreadSerial) -> io::Result<()> {
        let Some(thread) = profile.threads.get(&thread) else { return Ok(()) };
        if !self.threads {
            return Ok(());
        }
        let [name, group] =
            [thread.name, thread.group].map(|name| printable(profile.names.get(name)));
        writeln!(
            self.out,
            "THREAD START (obj={:x}, id = {}, name=\"{name}\", group=\"{group}\")",
            thread.object.0, thread.serial.0
        )
    }

    fn thread_end(&mut self, _: &Profile, thread: ThreadSerial) -> io::Result<()> {
        if !self.threads {
            return Ok(());
        }
        writeln!(self.out, "THREAD END (id = {})", thread.0)
    }

    fn traces(&mut self, profile: &Profile) -> io::Result<()> {
        profile.traces.iter().try_for_each(|trace| self.frames(profile, trace.serial))
    }

    fn section(&mut self, profile: &Profile, section: &Section) -> io::Result<()> {
        match section {
            Section::CpuSamples(_) | Section::CpuTimes(_) => {
                section.traces().into_iter().try_for_each(|trace| self.frames(profile, trace))?;
            }
            Section::CpuOld(_) => {}
            _ => self.traces(profile)?,
        }
        match section {
            Section::MonitorDump(dump) => self.monitor_dump(profile, dump),
            Section::MonitorTimes(times) => self.monitor_times(profile, times),
            Section::Sites(sites) => self.sites(profile, sites),
            Section::CpuSamples(samples) => self.cpu_samples(profile, samples),
            Section::CpuTimes(times) => self.cpu_times(profile, times),
            Section::CpuOld(old) => self.cpu_old(profile, old),
            Section::HeapSummary(_) => Err(unsupported("text has no summary of the heap")),
            Section::HeapDump(_) => Err(unsupported("a heap dump is written with its records")),
        }
    }

    fn heap_dump(
        &mut self,
        profile: &Profile,
        dump: &HeapDump,
        records: &mut dyn FnMut(&mut EachRecord<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        self.traces(profile)?;
        let live = match dump.live {
            Some(live) => live,
            None => {
                let mut live = Amount::default();
                records(&mut |record| {
                    if let Some(bytes) = record.object_size() {
                        live.bytes += bytes;
                        live.instances += 1;
                    }
                    Ok(())
                })?;
                live
            }
        };
        let Amount { bytes, instances } = live;
        writeln!(self.out, "HEAP DUMP BEGIN ({instances} objects, {bytes} bytes) {}", at(dump.at))?;
        records(&mut |record| self.record(profile, record))?;
        let superclass = profile.class_of_name("java.lang.Object").unwrap_or_default();
        for (id, name) in self.arrays.values().cloned().collect::<Vec<_>>() {
            if profile.class_of_name(&name).is_none() {
                self.class(&Class { id, name: &name, superclass, ..Class::default() })?;
            }
        }
        writeln!(self.out, "HEAP DUMP END")
    }

    fn holds(&self, section: &Section) -> bool {
        !matches!(section, Section::HeapSummary(_))
    }

    fn end_dump(&mut self, kind: DumpKind) -> io::Result<()> {
        if kind == DumpKind::Snapshot { writeln!(self.out) } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Returns the line of a frame in a trace; an empty one for a frame that the profile does not have.
fn frame_line(profile: &Profile, id: FrameId) -> Box<str> {
    let Some((frame, method)) = profile.frame(id) else { return Box::default() };
    let [class, name, source] =
        [method.class, method.name, method.source].map(|name| printable(profile.names.get(name)));
    let method = qualified(class, name);
    let line = match frame.line {
        Line::Number(line) => format!("\t{method}({source}:{line})\n"),
        // JVMTI's HPROF does not tell native methods.
        Line::Unknown | Line::Native => format!("\t{method}({source}:Unknown line)\n"),
        Line::Compiled => format!("\t{method}({source}:Compiled method)\n"),
    };
    line.into()
}

/// The percentages of rows, each and summed up.
struct Share {
    total: f64,
    accumulated: f64,
}

impl Share {
    fn of(total: f64) -> Self {
        Self { total, accumulated: 0.0 }
    }

    fn next(&mut self, part: f64) -> (f64, f64) {
        let own = if self.total > 0.0 { part / self.total * 100.0 } else { 0.0 };
        self.accumulated += own;
        (own, self.accumulated)
    }
}

/// Returns the object if it is one.
fn reference(value: Value) -> Option<ObjectId> {
    match value {
        Value::Reference(object) if object != ObjectId(0) => Some(object),
        _ => None,
    }
}

/// Returns a method as `cpu=old` names it, or the text for one that is not known.
fn method_name(profile: &Profile, id: Option<MethodId>, unknown: &str) -> String {
    let Some(method) = id.and_then(|id| profile.methods.get(id)) else { return unknown.to_owned() };
    let [class, name, signature] = [method.class, method.name, method.signature]
        .map(|name| printable(profile.names.get(name)));
    format!("{class}.{name}{signature}")
}

/// Returns a thread as a monitor dump names it.
fn thread_name(thread: ThreadSerial) -> String {
    match thread {
        ThreadSerial(0) => "<unknown thread>".to_owned(),
        ThreadSerial(serial) => format!("thread {serial}"),
    }
}

/// Returns the time when a section was written.
fn at(time: Option<Time>) -> String {
    time.unwrap_or_default().to_text()
}
