//! Writes a file of one chunk.

use super::table::{Event, ROLES, Role, TYPES, Type};
use super::{HEADER, MAGIC, NATIVE, STATES, is_lock};
use crate::dump;
use crate::profile::formats::measures::{interval, start_and_duration};
use crate::profile::heap::{array_name, type_name};
use crate::profile::model::{
    CpuSamples, Label, Line, Method, MonitorTime, NameId, Profile, Site, StackId, ThreadSerial,
    Time, TraceSerial, WallState, nanoseconds,
};
use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::io::{self, Write};
use std::ops::Range;

/// The maximum number of events for CPU samples, and roughly that for waits.
const MOST: u64 = 1_000_000;

/// The time for which an event stands if CPU time was measured.
const PERIOD: u64 = 1_000_000;

/// The kinds of frames. The last one is that of native methods.
const FRAMES: [&str; 3] = ["Interpreted", "JIT compiled", NATIVE];

/// The JVM that was profiled.
#[derive(Clone, Copy, Debug)]
pub struct Jvm<'a> {
    /// Its version.
    pub version: &'a str,
    /// The command line of the program.
    pub command: &'a str,
    /// The number of its process.
    pub process: u32,
    /// The time of its start. None if it is that of the profile.
    pub started: Option<Time>,
}

/// Writes all weights of a profile.
///
/// Each CPU sample is an event, and each millisecond of measured CPU time. If these are more than a million, an event
/// stands for several. There is one event for each allocation site, and for each stack of wall-clock samples.
///
/// # Errors
///
/// Returns the errors of `out`, and `FileTooLarge` if the constants do not fit into one event.
pub fn write(profile: &Profile, jvm: Option<Jvm<'_>>, out: &mut dyn Write) -> io::Result<()> {
    let [start, duration] = start_and_duration(profile);
    let (events, spans, pools) = (Vec::new(), FxHashMap::default(), Pools::default());
    let mut chunk = Chunk { profile, duration, events, spans, each: 1, rest: 0, pools };
    chunk.jvm(jvm);
    chunk.cpu();
    let waits = profile.monitor_times().flat_map(|section| &section.rows);
    chunk.each = sum(waits.map(|row| row.hits)).div_ceil(MOST).max(1);
    for section in profile.monitor_times() {
        let span = chunk.span(section.at, Event::Monitor);
        section.rows.iter().for_each(|row| chunk.waits(row, &span));
    }
    for site in profile.sites().next_back().into_iter().flat_map(|sites| &sites.rows) {
        chunk.site(site);
    }
    let mut body = varints([start, 0, 1]);
    metadata(&mut body);
    let metadata = event(0, &body)?;
    let constants = event(1, &chunk.constants())?;
    let place = HEADER + metadata.len();
    let length = place + constants.len() + chunk.events.len();
    out.write_all(&[MAGIC, &[0, 2, 0, 0]].concat())?;
    for number in [length as u64, place as u64, HEADER as u64, start, duration, 0, 1_000_000_000] {
        out.write_all(&number.to_be_bytes())?;
    }
    // Numbers are compressed.
    out.write_all(&[0, 0, 0, 1])?;
    [metadata, constants, chunk.events].iter().try_for_each(|part| out.write_all(part))
}

/// Writes a number in at most nine bytes: seven bits in each, and eight in the ninth.
fn varint(out: &mut Vec<u8>, mut value: u64) {
    for _ in 0..8 {
        if value < 0x80 {
            break;
        }
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn varints<const N: usize>(values: [u64; N]) -> Vec<u8> {
    let mut out = Vec::new();
    values.into_iter().for_each(|value| varint(&mut out, value));
    out
}

/// Writes text in UTF-8.
fn text(out: &mut Vec<u8>, text: &str) {
    out.push(3);
    varint(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Returns an event. It begins with its length, which includes the bytes of the length.
fn event(of: u64, body: &[u8]) -> io::Result<Vec<u8>> {
    let of = varints([of]);
    let lengths = (1..=5).map(|bytes| (varints([(bytes + of.len() + body.len()) as u64]), bytes));
    let length = lengths.into_iter().find(|(length, bytes)| length.len() == *bytes);
    let is_small = i32::try_from(body.len() + 10).is_ok();
    let (length, _) = length.filter(|_| is_small).ok_or(io::ErrorKind::FileTooLarge)?;
    Ok([&length, &of, body].concat())
}

fn sum(each: impl Iterator<Item = u64>) -> u64 {
    each.fold(0, u64::saturating_add)
}

/// Writes the layouts of all types: a tree like one of XML, with its strings before it.
fn metadata(out: &mut Vec<u8>) {
    let mut strings = IndexSet::<String, FxBuildHasher>::default();
    let mut element = |name: &str, attributes: &[(&str, &str)], children: &[Vec<u8>]| {
        let mut string = |text: &str| strings.insert_full(text.to_owned()).0 as u64;
        let mut out = varints([string(name), attributes.len() as u64]);
        for (key, value) in attributes {
            out.extend(varints([string(key), string(value)]));
        }
        varint(&mut out, children.len() as u64);
        out.extend(children.iter().flatten());
        out
    };
    let id = |name| Type::number(name).to_string();
    let mut types = Vec::new();
    for of in TYPES.iter() {
        let mut fields = Vec::new();
        for field in &of.fields {
            let annotation = field.annotation.map(|[class, value]| {
                element("annotation", &[("class", &id(class)), ("value", value)], &[])
            });
            let class = id(field.of);
            let mut attributes = vec![("name", field.name), ("class", &class)];
            attributes.extend(field.is_array.then_some(("dimension", "1")));
            attributes.extend(field.is_pooled.then_some(("constantPool", "true")));
            fields.push(element("field", &attributes, annotation.as_slice()));
        }
        let id = id(of.name);
        let mut attributes = vec![("name", of.name), ("id", &id)];
        attributes.extend(of.event.map(|_| ("superType", "jdk.jfr.Event")));
        let is_annotation = of.name.starts_with("jdk.jfr.");
        let annotation = ("superType", "java.lang.annotation.Annotation");
        attributes.extend(is_annotation.then_some(annotation));
        attributes.extend(of.is_simple().then_some(("simpleType", "true")));
        types.push(element("class", &attributes, &fields));
    }
    let region = element("region", &[("locale", "en"), ("gmtOffset", "0")], &[]);
    let types = element("metadata", &[], &types);
    let root = element("root", &[], &[types, region]);
    varint(out, strings.len() as u64);
    strings.iter().for_each(|string| text(out, string));
    out.extend(root);
}

/// The constants of a type: their number is the place, from 1.
type Pool<T> = IndexSet<T, FxBuildHasher>;

/// Returns the number of a constant.
fn number<T: std::hash::Hash + Eq>(pool: &mut Pool<T>, constant: T) -> u64 {
    pool.insert_full(constant).0 as u64 + 1
}

#[derive(Default)]
struct Pools {
    stacks: Pool<StackId>,
    methods: Pool<[u64; 3]>,
    classes: Pool<u64>,
    symbols: Pool<String>,
}

/// The events, and the constants to which they refer.
struct Chunk<'a> {
    profile: &'a Profile,
    /// In nanoseconds.
    duration: u64,
    events: Vec<u8>,
    /// The time that the last section of each kind covers.
    spans: FxHashMap<Event, Range<u64>>,
    /// The amount for which an event stands, and what is left of the last row.
    each: u64,
    rest: u64,
    pools: Pools,
}

impl Chunk<'_> {
    /// Adds an event, which is small.
    fn event(&mut self, kind: Event, body: &[u8]) {
        let of = Type::of_event(kind).map_or(0, |of| Type::number(of.name));
        self.events.extend(event(of, body).into_iter().flatten());
    }

    fn jvm(&mut self, jvm: Option<Jvm<'_>>) {
        let Some(jvm) = jvm else { return };
        let mut body = varints([0]);
        for value in ["", jvm.version, "", "", jvm.command] {
            text(&mut body, value);
        }
        let started = jvm.started.unwrap_or(self.profile.created);
        body.extend(varints([started.0, jvm.process.into()]));
        self.event(Event::Jvm, &body);
    }

    /// Returns the time that a section of this kind covers: since the one before. Those of one dump cover the same time.
    fn span(&mut self, end: Option<Time>, kind: Event) -> Range<u64> {
        let end = end.map_or(self.duration, |end| nanoseconds(end.since(self.profile.created)));
        let span = self.spans.entry(kind).or_default();
        if end > span.end {
            *span = span.end..end;
        }
        span.clone()
    }

    /// Writes CPU samples and wall-clock samples, or measured CPU time.
    fn cpu(&mut self) {
        let profile = self.profile;
        let rows = profile.cpu_samples().flat_map(|section| &section.rows);
        let rows = rows.filter(|row| profile.state_of(row.trace).is_none());
        self.each = sum(rows.map(|row| row.samples)).div_ceil(MOST).max(1);
        let mut interval = interval(profile).map(nanoseconds);
        profile.cpu_samples().for_each(|section| self.cpu_samples(section));
        if profile.cpu_samples().next().is_none() {
            let rows = profile.cpu_times().flat_map(|section| &section.rows);
            self.each = sum(rows.map(|row| nanoseconds(row.own))).div_ceil(MOST).max(PERIOD);
            interval = profile.cpu_times().next().map(|_| 1);
            for section in profile.cpu_times() {
                let span = self.span(section.at, Event::Cpu);
                for row in &section.rows {
                    self.samples(row.trace, nanoseconds(row.own), &span);
                }
            }
        }
        let Some(interval) = interval else { return };
        for (name, each) in [("jdk.ExecutionSample", self.each), ("profiler.WallClockSample", 1)] {
            let mut body = varints([0, Type::number(name)]);
            text(&mut body, "period");
            text(&mut body, &format!("{} ns", interval.saturating_mul(each)));
            self.event(Event::Setting, &body);
        }
    }

    fn cpu_samples(&mut self, section: &CpuSamples) {
        let span = self.span(section.at, Event::Cpu);
        let timed = &section.timeline.rows;
        let bucket = nanoseconds(section.timeline.bucket);
        let all = sum(section.rows.iter().map(|row| row.samples));
        if sum(timed.iter().map(|row| row.samples)) == all {
            for row in timed {
                let start = bucket.saturating_mul(row.bucket.into());
                self.samples(row.trace, row.samples, &(start..start.saturating_add(bucket)));
            }
        } else {
            section.rows.iter().for_each(|row| self.samples(row.trace, row.samples, &span));
        }
    }

    /// Writes the samples of a trace, spread over a time.
    fn samples(&mut self, trace: TraceSerial, samples: u64, span: &Range<u64>) {
        if self.profile.state_of(trace).is_some() {
            return self.sample(Event::Wall, trace, span, &[(Role::Amount, samples)]);
        }
        let all = self.rest.saturating_add(samples);
        let events = all / self.each;
        self.rest = all % self.each;
        for place in 0..events {
            self.sample(Event::Cpu, trace, &part(span, place, events), &[]);
        }
    }

    /// Writes the waits for a monitor, all equally long.
    fn waits(&mut self, row: &MonitorTime, span: &Range<u64>) {
        let class = self.profile.names.get(row.monitor.name());
        let kind = if is_lock(class) { Event::Park } else { Event::Monitor };
        let class = self.class(class);
        let events = (row.hits / self.each).max(1);
        let time = 0..nanoseconds(row.time);
        for place in 0..events {
            let time = part(&time, place, events);
            let values = [(Role::Class, class), (Role::Amount, time.end - time.start)];
            self.sample(kind, row.trace, &part(span, place, events), &values);
        }
    }

    fn site(&mut self, site: &Site) {
        let class = class_name(&self.profile.site_type(site));
        let (allocated, live) = (site.allocated.bytes, site.live.bytes);
        for (kind, bytes) in [(Event::Allocated, allocated), (Event::Live, live)] {
            if bytes > 0 {
                let values = [(Role::Class, self.class(&class)), (Role::Amount, bytes)];
                self.sample(kind, site.trace, &(0..self.duration), &values);
            }
        }
    }

    /// Writes an event with a stack, in the middle of a time.
    fn sample(&mut self, kind: Event, trace: TraceSerial, span: &Range<u64>, more: &[(Role, u64)]) {
        let traces = &self.profile.traces;
        let (state, stack) = match self.profile.state_of(trace) {
            Some(known) => known,
            None => (WallState::Running, traces.frames_of(trace).id()),
        };
        let state = STATES.iter().position(|(_, other)| *other == state);
        let thread = traces.get(trace).map_or(ThreadSerial(0), |trace| trace.thread);
        let mut values = [0; ROLES];
        values[Role::Start as usize] = span.start + (span.end - span.start) / 2;
        values[Role::Thread as usize] = thread.0.into();
        values[Role::Stack as usize] = number(&mut self.pools.stacks, stack);
        values[Role::State as usize] = state.map_or(0, |place| place as u64 + 1);
        more.iter().for_each(|(role, value)| values[*role as usize] = *value);
        let mut body = Vec::new();
        for field in Type::of_event(kind).map_or(&[][..], |of| &of.fields) {
            varint(&mut body, field.role.map_or(0, |role| values[role as usize]));
        }
        self.event(kind, &body);
    }

    fn symbol(&mut self, text: &str) -> u64 {
        number(&mut self.pools.symbols, text.to_owned())
    }

    fn class(&mut self, name: &str) -> u64 {
        let name = self.symbol(&name.replace('.', "/"));
        number(&mut self.pools.classes, name)
    }

    fn method(&mut self, of: Method) -> u64 {
        let names = &self.profile.names;
        let class = self.class(names.get(of.class));
        let [name, descriptor] = [of.name, of.signature].map(|name| self.symbol(names.get(name)));
        number(&mut self.pools.methods, [class, name, descriptor])
    }

    /// Returns a stack as a constant has it.
    fn stack(&mut self, stack: StackId) -> Vec<u8> {
        let profile = self.profile;
        let mut frames: Vec<_> = profile.traces.path(stack).iter().collect();
        let is_cut = frames.pop_if(|frame| profile.has_label(*frame, Label::Truncated)).is_some();
        let frames: Vec<_> = frames.into_iter().filter_map(|id| profile.frame(id)).collect();
        let mut out = varints([is_cut.into(), frames.len() as u64]);
        for (frame, method) in frames {
            let (line, kind) = match frame.line {
                Line::Number(line) => (line, 1),
                Line::Unknown => (0, 1),
                Line::Compiled => (0, 2),
                Line::Native => (0, 3),
            };
            out.extend(varints([self.method(method), line.into(), 0, kind]));
        }
        out
    }

    /// Returns the constants of all types.
    fn constants(&mut self) -> Vec<u8> {
        let stacks: Vec<_> = self.pools.stacks.iter().copied().collect();
        let stacks: Vec<_> = stacks.into_iter().map(|stack| self.stack(stack)).collect();
        let (names, threads) = (&self.profile.names, &self.profile.threads);
        let groups: Pool<NameId> = threads.values().map(|thread| thread.group).collect();
        // The time, the duration, the place of other constants, and the kind of the checkpoint.
        let mut out = varints([0, 0, 0, 1, 8]);
        pool(&mut out, "jdk.types.FrameType", FRAMES, text);
        pool(&mut out, "jdk.types.ThreadState", STATES, |out, (name, _)| text(out, name));
        pool(&mut out, "jdk.types.StackTrace", stacks, |out, stack| out.extend(stack));
        pool(
            &mut out,
            "jdk.types.Method",
            &self.pools.methods,
            |out, [class, name, descriptor]| {
                out.extend(varints([*class, *name, *descriptor, 0, 0]));
            },
        );
        pool(&mut out, "java.lang.Class", &self.pools.classes, |out, name| {
            out.extend(varints([0, *name, 0, 0]));
        });
        pool(&mut out, "jdk.types.Symbol", &self.pools.symbols, |out, name| text(out, name));
        pool(&mut out, "jdk.types.ThreadGroup", &groups, |out, name| {
            varint(out, 0);
            text(out, names.get(*name));
        });
        // Threads have numbers of their own.
        out.extend(varints([Type::number("java.lang.Thread"), threads.len() as u64]));
        for (serial, thread) in threads {
            let (serial, name) = (u64::from(serial.0), names.get(thread.name));
            let group = groups.get_index_of(&thread.group).map_or(0, |place| place as u64 + 1);
            varint(&mut out, serial);
            text(&mut out, name);
            varint(&mut out, 0);
            text(&mut out, name);
            out.extend(varints([serial, group]));
        }
        out
    }
}

/// Writes the constants of a type.
fn pool<T>(
    out: &mut Vec<u8>,
    of: &str,
    all: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
    mut write: impl FnMut(&mut Vec<u8>, T),
) {
    let all = all.into_iter();
    out.extend(varints([Type::number(of), all.len() as u64]));
    for (place, constant) in (1..).zip(all) {
        varint(out, place);
        write(out, constant);
    }
}

/// Returns an equal part of a time.
fn part(span: &Range<u64>, place: u64, parts: u64) -> Range<u64> {
    let length = u128::from(span.end - span.start);
    let at = |place| span.start + (length * u128::from(place) / u128::from(parts)) as u64;
    at(place)..at(place + 1)
}

/// Returns the name in a class file of a type in Java source: `[I` of `int[]`.
fn class_name(source: &str) -> String {
    let is_array = |of: &dump::Type| type_name(of.array_name()) == source;
    match (source.strip_suffix("[]"), dump::Type::ALL.iter().find(|of| is_array(of))) {
        (None, _) => source.to_owned(),
        (_, Some(elements)) => elements.array_name().to_owned(),
        (Some(elements), None) => array_name(&class_name(elements)),
    }
}
