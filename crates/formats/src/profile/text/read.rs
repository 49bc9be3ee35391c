//! Reads text, all but the records of heap dumps.

use super::heading;
use super::lines::{Lines, Words};
use crate::profile::error::Error;
use crate::profile::heap::type_name;
use crate::profile::model::{
    Amount, Call, ClassSerial, CpuOld, CpuSample, CpuSamples, CpuTime, CpuTimes, Frame, FrameId,
    HeapDump, Line, Monitor, MonitorDump, MonitorStatus, MonitorTime, MonitorTimes, ObjectId,
    Profile, Site, Sites, Thread, ThreadSerial, ThreadState, ThreadStatus, Time, TraceSerial, Type,
};
use std::time::Duration;

const FIRST_LINE: &str = "JAVA PROFILE 1.0.1, created ";
const END_OF_PREAMBLE: &str = "--------";

/// The beginnings of files. A file of `cpu=old` begins with any section.
const STARTS: [&str; 9] = [
    "JAVA PROFILE ",
    "TRACE ",
    "MONITOR DUMP BEGIN",
    "MONITOR TIME BEGIN ",
    "HEAP DUMP BEGIN ",
    "SITES BEGIN ",
    "CPU SAMPLES BEGIN ",
    "CPU TIME (ms) BEGIN ",
    heading::CPU_OLD,
];

/// Returns true if these bytes are of a text file.
pub fn is_text(bytes: &[u8]) -> bool {
    STARTS.iter().any(|start| bytes.starts_with(start.as_bytes()))
}

/// Reads a file.
pub fn read(bytes: &[u8], profile: &mut Profile) -> Result<(), Error> {
    let lines = Lines::new(bytes);
    let mut reader = Reader { lines, profile };
    reader.beginning(bytes)?;
    while let Some(line) = reader.lines.next() {
        reader.record(&line)?;
    }
    if reader.profile.sections.is_empty() {
        return Err(reader.lines.error("the file ends before its first section"));
    }
    Ok(())
}

struct Reader<'a> {
    lines: Lines<'a>,
    profile: &'a mut Profile,
}

impl Reader<'_> {
    fn beginning(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let first = self.lines.peek().unwrap_or_default();
        if !first.starts_with("JAVA PROFILE ") {
            return Ok(());
        }
        self.lines.next();
        let created = first.strip_prefix(FIRST_LINE);
        self.profile.created = created.and_then(Time::from_text).unwrap_or_default();
        let start = self.lines.place();
        let Some(end) = self.lines.skip_past(END_OF_PREAMBLE) else {
            return Err(self.cut_off("its preamble, before the line `--------`"));
        };
        // An empty line stands before and after it.
        let preamble = String::from_utf8_lossy(&bytes[start..end]).replace("\r\n", "\n");
        let preamble = preamble.trim_start_matches('\n');
        self.profile.preamble = preamble.strip_suffix('\n').unwrap_or(preamble).to_owned();
        Ok(())
    }

    fn record(&mut self, line: &str) -> Result<(), Error> {
        // JDK 8 has a line for each Object.wait() with `monitor=y`.
        let is_wait = line.starts_with("WAIT: MONITOR ") || line.starts_with("WAITED: MONITOR ");
        let known = if line.is_empty() || is_wait {
            Some(())
        } else if let Some(rest) = line.strip_prefix("THREAD START ") {
            self.thread_start(Words(rest))
        } else if let Some(rest) = line.strip_prefix("THREAD END ") {
            self.thread_end(Words(rest))
        } else if let Some(rest) = line.strip_prefix("TRACE ") {
            self.trace(Words(rest))?
        } else if let Some(rest) = line.strip_prefix("HEAP DUMP BEGIN ") {
            self.heap_dump(Words(rest))?
        } else if let Some(rest) = line.strip_prefix("SITES BEGIN ") {
            self.sites(Words(rest))?
        } else if let Some(rest) = line.strip_prefix("CPU SAMPLES BEGIN ") {
            self.cpu_samples(Words(rest))?
        } else if let Some(rest) = line.strip_prefix("CPU TIME (ms) BEGIN ") {
            self.cpu_times(Words(rest))?
        } else if let Some(rest) = line.strip_prefix("MONITOR TIME BEGIN ") {
            self.monitor_times(Words(rest))?
        } else if line == "MONITOR DUMP BEGIN" {
            self.monitor_dump()?;
            Some(())
        } else if line == heading::CPU_OLD {
            self.cpu_old();
            Some(())
        } else {
            None
        };
        known.ok_or_else(|| self.unknown(line))
    }

    /// Returns the error that `line` can't be read.
    fn unknown(&self, line: &str) -> Error {
        let start: String = line.chars().take(60).collect();
        self.lines.error(format!("this is no line of HPROF: {start:?}"))
    }

    fn cut_off(&self, what: &str) -> Error {
        self.lines.error(format!("the file is cut off in {what}"))
    }

    fn thread_start(&mut self, mut words: Words<'_>) -> Option<()> {
        words.text("(obj=")?;
        let object = ObjectId(words.hex()?);
        words.text(", id = ")?;
        let serial = ThreadSerial(words.digits()?);
        words.text(", name=\"")?;
        // A name may have quotes itself.
        let name = words.until_last("\", group=\"")?;
        let group = words.0.strip_suffix("\")")?;
        let thread = Thread {
            serial,
            object,
            name: self.profile.names.intern(name),
            group: self.profile.names.intern(group),
            ..Thread::default()
        };
        self.profile.threads.insert(serial, thread);
        Some(())
    }

    fn thread_end(&mut self, mut words: Words<'_>) -> Option<()> {
        words.text("(id = ")?;
        let serial = ThreadSerial(words.digits()?);
        words.text(")")?;
        if let Some(thread) = self.profile.threads.get_mut(&serial) {
            thread.ended = true;
        }
        words.end()
    }

    fn trace(&mut self, mut words: Words<'_>) -> Result<Option<()>, Error> {
        let head = |words: &mut Words<'_>| {
            let serial = TraceSerial(words.digits()?);
            words.text(":")?;
            let mut thread = ThreadSerial(0);
            if words.text(" (thread=").is_some() {
                thread = ThreadSerial(words.digits()?);
                words.text(")")?;
            }
            words.end()?;
            Some((serial, thread))
        };
        let Some((serial, thread)) = head(&mut words) else { return Ok(None) };
        let mut frames = Vec::new();
        while let Some(line) = self.lines.peek()
            && let Some(frame) = line.strip_prefix('\t')
        {
            self.lines.next();
            if frame != "<empty>" {
                frames.push(self.frame(frame).ok_or_else(|| self.unknown(&line))?);
            }
        }
        self.profile.traces.insert(serial, thread, &frames);
        Ok(Some(()))
    }

    /// Returns a frame: `class.method(source:line)`. Methods of some languages have parentheses in their names.
    fn frame(&mut self, text: &str) -> Option<FrameId> {
        let (method, place) = text.strip_suffix(')')?.rsplit_once('(')?;
        let (source, line) = place.rsplit_once(':')?;
        let line = match line {
            "Unknown line" => Line::Unknown,
            "Compiled method" => Line::Compiled,
            "Native method" => Line::Native,
            number => Line::Number(number.parse().ok()?),
        };
        let is_label = method.starts_with('[') && method.ends_with(']');
        let (class, name) = if is_label { ("", method) } else { method.rsplit_once('.')? };
        let method = self.profile.intern_method([class, name, "", source]);
        Some(self.profile.frames.intern(Frame { method, line }))
    }

    fn heap_dump(&mut self, mut words: Words<'_>) -> Result<Option<()>, Error> {
        let head = |words: &mut Words<'_>| {
            words.text("(")?;
            let instances = words.digits()?;
            words.text(" objects, ")?;
            let bytes = words.digits()?;
            words.text(" bytes) ")?;
            Some((Amount { bytes, instances }, Time::from_text(words.0)))
        };
        let Some((live, at)) = head(&mut words) else { return Ok(None) };
        let start = self.lines.place() as u64;
        let end = self.lines.skip_past("HEAP DUMP END");
        let part = start..end.unwrap_or(self.lines.place()) as u64;
        self.profile.sections.push(HeapDump { at, live: Some(live), parts: vec![part] }.into());
        if end.is_none() { Err(self.cut_off("a heap dump")) } else { Ok(Some(())) }
    }

    /// Passes each line of a section up to its last, without the headings: their spaces differ between versions.
    fn rows(
        &mut self,
        last: &str,
        mut row: impl FnMut(&mut Self, &str) -> Option<()>,
    ) -> Result<(), Error> {
        while let Some(line) = self.lines.next() {
            if line == last {
                return Ok(());
            }
            let first = line.split_ascii_whitespace().next();
            if !matches!(first, Some("percent" | "rank")) {
                row(self, &line).ok_or_else(|| self.unknown(&line))?;
            }
        }
        Err(self.cut_off(last.trim_end_matches(" END")))
    }

    fn sites(&mut self, mut words: Words<'_>) -> Result<Option<()>, Error> {
        let Some(order) = words.text("(ordered by ").and_then(|()| words.until(") ")) else {
            return Ok(None);
        };
        let by_allocation = order == "allocated bytes";
        let mut sites = Sites { at: Time::from_text(words.0), by_allocation, ..Sites::default() };
        let read = self.rows("SITES END", |reader, line| {
            let mut words = Words(line);
            let _rank: u64 = words.number()?;
            words.percentage()?;
            words.percentage()?;
            let live = Amount { bytes: words.number()?, instances: words.number()? };
            let allocated = Amount { bytes: words.number()?, instances: words.number()? };
            let trace = TraceSerial(words.number()?);
            let (class, array_of) = reader.site_name(words.0.strip_prefix(' ')?);
            sites.rows.push(Site { class, array_of, trace, live, allocated });
            Some(())
        });
        for row in &sites.rows {
            sites.live += row.live;
            sites.allocated += row.allocated;
        }
        self.profile.sections.push(sites.into());
        read.map(Some)
    }

    /// Returns the class that a site's name stands for and, where that is unknown, an array's elements.
    fn site_name(&mut self, name: &str) -> (ClassSerial, Option<Type>) {
        if name == "<Unknown>" {
            return (ClassSerial(0), None);
        }
        let is_array = |of: &Type| of.array_name() == name || type_name(of.array_name()) == name;
        if let Some(elements) = Type::ALL.into_iter().find(is_array) {
            return (ClassSerial(0), Some(elements));
        }
        let array_of = name.ends_with("[]").then_some(Type::Reference);
        let name = self.profile.names.intern(name);
        (self.profile.classes.named(name), array_of)
    }

    fn cpu_samples(&mut self, mut words: Words<'_>) -> Result<Option<()>, Error> {
        let Some((total, at)) = total(&mut words, "(total = ", ") ") else { return Ok(None) };
        let mut samples = CpuSamples { at, total, ..CpuSamples::default() };
        let read = self.rows("CPU SAMPLES END", |_, line| {
            let (part, hits, trace, _) = ranked(line)?;
            let by_part = total as f64 * part;
            // The column counts from the beginning. Its value is ignored only if it contradicts the percentage
            // since the last dump, which has two digits.
            let exact = (by_part - hits as f64).abs() <= total as f64 * 0.000_051;
            let samples_now = if exact { hits } else { by_part.round() as u64 };
            samples.rows.push(CpuSample { trace, samples: samples_now, hits });
            Some(())
        });
        self.profile.sections.push(samples.into());
        read.map(Some)
    }

    fn cpu_times(&mut self, mut words: Words<'_>) -> Result<Option<()>, Error> {
        let Some((total, at)) = total(&mut words, "(total = ", ") ") else { return Ok(None) };
        let total = Duration::from_millis(total);
        let mut times = CpuTimes { at, total, ..CpuTimes::default() };
        let read = self.rows("CPU TIME (ms) END", |_, line| {
            let (part, calls, trace, _) = ranked(line)?;
            let own = share(total, part)?;
            times.rows.push(CpuTime { trace, own, calls });
            Some(())
        });
        self.profile.sections.push(times.into());
        read.map(Some)
    }

    fn monitor_times(&mut self, mut words: Words<'_>) -> Result<Option<()>, Error> {
        let Some((total, at)) = total(&mut words, "(total = ", " ms) ") else { return Ok(None) };
        let total = Duration::from_millis(total);
        let mut times = MonitorTimes { at, total, rows: Vec::new() };
        let read = self.rows("MONITOR TIME END", |reader, line| {
            let (part, hits, trace, name) = ranked(line)?;
            let monitor = if let Some(java) = name.strip_suffix(" (Java)") {
                reader.java_monitor(java)?
            } else {
                reader.raw_monitor(name.strip_suffix(" (Raw)")?)?
            };
            times.rows.push(MonitorTime { monitor, trace, hits, time: share(total, part)? });
            Some(())
        });
        self.profile.sections.push(times.into());
        read.map(Some)
    }

    /// `class(hex)`; JVMTI's HPROF writes the class alone, that of JDK 8 its descriptor.
    fn java_monitor(&mut self, text: &str) -> Option<Monitor> {
        let (class, object) = match text.strip_suffix(')') {
            Some(text) => text.rsplit_once('(')?,
            None => (text, "0"),
        };
        let object = ObjectId(u64::from_str_radix(object, 16).ok()?);
        let class = match class.strip_prefix('L').and_then(|class| class.strip_suffix(';')) {
            Some(class) => class.replace('/', "."),
            None => class.to_owned(),
        };
        Some(Monitor::Java { object, class: self.profile.names.intern(&class) })
    }

    /// `"name"(hex)`
    fn raw_monitor(&mut self, text: &str) -> Option<Monitor> {
        let (name, id) = text.strip_prefix('"')?.strip_suffix(')')?.rsplit_once("\"(")?;
        let id = ObjectId(u64::from_str_radix(id.trim_start_matches("0x"), 16).ok()?);
        Some(Monitor::Raw { id, name: self.profile.names.intern(name) })
    }

    fn monitor_dump(&mut self) -> Result<(), Error> {
        let mut dump = MonitorDump::default();
        let read = self.rows("MONITOR DUMP END", |reader, line| {
            if let Some(thread) = line.strip_prefix("    THREAD ") {
                dump.threads.push(thread_status(Words(thread))?);
            } else if let Some(java) = line.strip_prefix("    MONITOR ") {
                dump.monitors.push(reader.monitor_status(java, Self::java_monitor)?);
            } else if let Some(raw) = line.strip_prefix("    RAW MONITOR ") {
                dump.monitors.push(reader.monitor_status(raw, Self::raw_monitor)?);
            } else {
                let (what, who) = line.strip_prefix('\t')?.split_once(':')?;
                let who = who.trim_start();
                let monitor = dump.monitors.last_mut()?;
                match what {
                    "owner" => {
                        let (owner, count) = who.split_once(", entry count: ")?;
                        monitor.owner = Some(thread(owner)?);
                        monitor.entry_count = count.parse().ok()?;
                    }
                    "waiting to enter" => monitor.waiting_to_enter = threads(who)?,
                    "waiting to be notified" => monitor.waiting_to_be_notified = threads(who)?,
                    _ => return None,
                }
            }
            Some(())
        });
        self.profile.sections.push(dump.into());
        read
    }

    /// A monitor of a dump; its owner and those that wait are in the lines below.
    fn monitor_status(
        &mut self,
        text: &str,
        monitor: fn(&mut Self, &str) -> Option<Monitor>,
    ) -> Option<MonitorStatus> {
        let text = text.strip_suffix(" unowned").unwrap_or(text);
        Some(MonitorStatus {
            monitor: monitor(self, text)?,
            owner: None,
            entry_count: 0,
            waiting_to_enter: Vec::new(),
            waiting_to_be_notified: Vec::new(),
        })
    }

    /// The rows of `cpu=old`, which have no end.
    fn cpu_old(&mut self) {
        let mut old = CpuOld::default();
        while let Some(line) = self.lines.peek()
            && let Some(call) = self.call(&line)
        {
            self.lines.next();
            old.rows.push(call);
        }
        self.profile.sections.push(old.into());
    }

    /// `count callee caller time`. Names may have spaces in some languages, so that the callee ends where
    /// both halves are methods.
    fn call(&mut self, line: &str) -> Option<Call> {
        let (count, rest) = line.split_once(' ')?;
        let (methods, time) = rest.rsplit_once(' ')?;
        let count = count.parse().ok()?;
        let time = Duration::from_millis(time.parse().ok()?);
        let halves = methods.match_indices(' ').find_map(|(space, _)| {
            let (callee, caller) = (&methods[..space], &methods[space + 1..]);
            Some((
                method_parts(callee, "<unknown callee>")?,
                method_parts(caller, "<unknown caller>")?,
            ))
        })?;
        let mut intern = |parts: MethodParts<'_>| {
            parts.map(|[class, name, signature]| {
                self.profile.intern_method([class, name, signature, ""])
            })
        };
        Some(Call { count, callee: intern(halves.0), caller: intern(halves.1), time })
    }
}

/// Class, name and signature; None for a method that is not known.
type MethodParts<'a> = Option<[&'a str; 3]>;

/// Returns the parts of `class.name(signature)`, or `unknown`; None if it is neither.
fn method_parts<'a>(text: &'a str, unknown: &str) -> Option<MethodParts<'a>> {
    if text == unknown {
        return Some(None);
    }
    // A signature has exactly one of each parenthesis.
    let open = text.rfind('(')?;
    text[open..].contains(')').then_some(())?;
    let (class, name) = text[..open].rsplit_once('.')?;
    Some(Some([class, name, &text[open..]]))
}

/// `(total = N) Sun Nov 22 01:03:08 2026`
fn total(words: &mut Words<'_>, before: &str, after: &str) -> Option<(u64, Option<Time>)> {
    words.text(before)?;
    let total = words.digits()?;
    words.text(after)?;
    Some((total, Time::from_text(words.0)))
}

/// Returns the columns that rows of CPU and monitor sections have in common: the part of the total, the count
/// and the trace; and what follows them.
fn ranked(line: &str) -> Option<(f64, u64, TraceSerial, &str)> {
    let mut words = Words(line);
    let _rank: u64 = words.number()?;
    let part = words.percentage()? / 100.0;
    words.percentage()?;
    let count = words.number()?;
    let trace = TraceSerial(words.number()?);
    Some((part, count, trace, words.0.strip_prefix(' ')?))
}

/// Returns a part of a time; None if there is no such part.
fn share(total: Duration, part: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(total.as_secs_f64() * part).ok()
}

/// `N, trace N, status: S|intr|CW`
fn thread_status(mut words: Words<'_>) -> Option<ThreadStatus> {
    let thread = ThreadSerial(words.digits()?);
    words.text(", trace ")?;
    let trace = TraceSerial(words.digits()?);
    words.text(", status: ")?;
    let suspended = words.text("S|").is_some();
    let interrupted = words.text("intr|").is_some();
    let state = match words.0 {
        "R" => ThreadState::Runnable,
        "MW" => ThreadState::MonitorWait,
        "CW" | "SL" => ThreadState::CondvarWait,
        // JDK 8 has more: a thread that has ended, for one.
        _ => ThreadState::Runnable,
    };
    Some(ThreadStatus { thread, trace, state, suspended, interrupted })
}

/// `thread N`, or one that is not known.
fn thread(text: &str) -> Option<ThreadSerial> {
    match text.trim() {
        "<unknown thread>" => Some(ThreadSerial(0)),
        text => text.strip_prefix("thread ")?.parse().ok().map(ThreadSerial),
    }
}

fn threads(text: &str) -> Option<Vec<ThreadSerial>> {
    // JVMTI's HPROF ends each with a comma.
    let text = text.trim_end().trim_end_matches(',');
    text.split(", ").filter(|thread| !thread.is_empty()).map(thread).collect()
}
