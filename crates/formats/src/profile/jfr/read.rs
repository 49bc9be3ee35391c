//! Reads the samples of a file.

use super::layout::{Constant, Events, Field, Header, Layout, Leaf, error};
use super::table::{Event, ROLES, Role, Type};
use super::{HEADER, NATIVE, STATES, is_lock};
use crate::profile::error::Error;
use crate::profile::model::{
    Amount, BucketSamples, CpuSample, CpuSamples, Frame, FrameId, Label, Line, Method, MethodId,
    Monitor, MonitorTime, MonitorTimes, NameId, ObjectId, Profile, Section, Site, Sites, StackId,
    Thread, ThreadSerial, Time, Timeline, TraceSerial, WallState,
};
use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::hash::Hash;
use std::time::Duration;

/// The maximum number of buckets of time.
const BUCKETS: u64 = 512;

/// Reads all chunks. After a fault, the profile has the samples that could be read.
///
/// # Errors
///
/// Returns the first fault.
pub fn read(bytes: &[u8], profile: &mut Profile) -> Result<(), Error> {
    let mut rows = Rows::default();
    let mut at = 0;
    while at < bytes.len() {
        let header = match Header::read(bytes, at) {
            Ok(header) => header,
            Err(error) => {
                rows.problem.get_or_insert(error);
                break;
            }
        };
        if at == 0 {
            profile.created = Time(header.start / 1_000_000);
            rows.start = header.start;
        }
        rows.end = rows.end.max(header.start.saturating_add(header.duration));
        if header.is_cut {
            rows.fault(at, "the recording is cut off in the last chunk");
        }
        chunk(&bytes[..header.end], at + HEADER, &header, &mut rows, profile);
        at = header.end;
    }
    let problem = rows.problem.take();
    profile.sections = rows.sections(profile);
    problem.map_or(Ok(()), Err)
}

/// Adds the samples of a chunk whose events begin at `at`.
fn chunk(bytes: &[u8], at: usize, header: &Header, rows: &mut Rows, profile: &mut Profile) {
    // The metadata is behind the events that it describes, and constants are everywhere.
    let (mut metadata, mut constants) = (None, Vec::new());
    for event in (Events { bytes, at }) {
        match event {
            Ok((0, place, body)) => metadata = Some((place, body)),
            Ok((1, place, body)) => constants.push((place, body)),
            Ok(_) => {}
            Err(place) => rows.fault(place, "an event is cut off or not valid"),
        }
    }
    let mut layout = Layout::new(bytes.len() - at);
    match metadata {
        Some((_, body)) if layout.metadata(body).is_some() => {}
        Some((place, _)) => return rows.fault(place, "the metadata of a chunk is not valid"),
        None => {
            let what = "a chunk cannot be read, as its metadata is missing: a JVM writes it last";
            // Less is lost by any other fault.
            rows.problem = Some(error(at, what));
            return;
        }
    }
    for (place, body) in constants {
        if layout.checkpoint(body).is_none() {
            rows.fault(place, "the constants of a chunk are not valid");
        }
    }
    let types = layout.types.iter();
    let types = types.filter_map(|(number, of)| Some((*number, Type::of_name(&of.name)?)));
    let types: FxHashMap<u64, &Type> = types.collect();
    let mut chunk = Chunk { header, layout, rows, profile, known: FxHashMap::default() };
    for (of, place, body) in (Events { bytes, at }).flatten() {
        let Some(known) = types.get(&of) else { continue };
        let read = match known.event {
            Some(Event::Setting) => chunk.setting(of, &types, body),
            Some(Event::Jvm) | None => continue,
            Some(kind) => chunk.sample(of, known, kind, body),
        };
        if read.is_none() {
            chunk.rows.fault(place, "the values of an event are not valid");
        }
    }
}

/// A chunk that is being read.
struct Chunk<'a, 'p> {
    header: &'p Header,
    layout: Layout<'a>,
    rows: &'p mut Rows,
    profile: &'p mut Profile,
    /// The numbers in the profile of constants that were translated.
    known: FxHashMap<Constant, u32>,
}

impl<'a> Chunk<'a, '_> {
    /// Takes the interval of samples from a setting: `20 ms`.
    fn setting(
        &mut self,
        of: u64,
        types: &FxHashMap<u64, &Type>,
        mut body: &'a [u8],
    ) -> Option<()> {
        let (mut sampled, mut texts) = (None, [None, None]);
        self.layout.value(&Field::of(of), &mut body, 0, &mut |name, leaf| match (name, leaf) {
            ("id", Leaf::Number(id)) => sampled = types.get(&id).and_then(|of| of.event),
            ("name", leaf) => texts[0] = self.layout.text(leaf, 0),
            ("value", leaf) => texts[1] = self.layout.text(leaf, 0),
            _ => {}
        })?;
        let [Some(name), Some(value)] = texts else { return Some(()) };
        let (number, unit) = value.split_once(' ').unwrap_or_default();
        let of_number = match unit {
            "ns" => Duration::from_nanos,
            "us" => Duration::from_micros,
            "ms" => Duration::from_millis,
            _ => Duration::from_secs,
        };
        if let (Some(kind), "period", Ok(number @ 1..)) = (sampled, &*name, number.parse()) {
            self.rows.intervals.insert(kind, of_number(number));
        }
        Some(())
    }

    /// Adds a sample.
    fn sample(&mut self, of: u64, known: &Type, kind: Event, mut body: &'a [u8]) -> Option<()> {
        let mut values: [Option<Constant>; ROLES] = [None; ROLES];
        for field in &self.layout.types.get(&of)?.fields {
            let known = known.fields.iter().find(|known| *known.name == *field.name);
            let role = known.and_then(|known| known.role);
            self.layout.value(field, &mut body, 0, &mut |_, leaf| {
                let value = match leaf {
                    Leaf::Number(number) => Some((0, number)),
                    Leaf::Constant(constant) => Some(constant),
                    _ => None,
                };
                if let Some(role) = role {
                    values[role as usize] = values[role as usize].or(value);
                }
            })?;
        }
        let value = |role: Role| values[role as usize];
        let number = |role: Role| value(role).map(|(_, number)| number);
        let time = self.header.time(number(Role::Start).unwrap_or(0));
        self.rows.end = self.rows.end.max(time);
        let thread = value(Role::Thread).map_or(ThreadSerial(0), |thread| self.thread(thread));
        let mut stack = value(Role::Stack).map_or(StackId::EMPTY, |stack| self.stack(stack));
        let state = value(Role::State).and_then(|state| self.state(state));
        let state = match kind {
            Event::Native => Some(WallState::Native),
            Event::Wall => Some(state.unwrap_or(WallState::Running)),
            // Old versions of async-profiler write all samples of the wall clock so.
            Event::Cpu => state.filter(|state| *state != WallState::Running),
            _ => None,
        };
        if let Some(state) = state {
            let frame = self.profile.state_frame(state);
            stack = self.profile.traces.push(stack, frame);
        }
        let class = value(Role::Class).map_or(NameId::EMPTY, |class| self.class(class));
        let (kind, amount) = match kind {
            _ if state.is_some() => (Event::Wall, number(Role::Amount).unwrap_or(1)),
            Event::Cpu => (kind, 1),
            // Other objects are waited for by threads without work.
            Event::Park if !is_lock(self.profile.names.get(class)) => return Some(()),
            Event::Park | Event::Monitor => {
                (Event::Monitor, self.header.duration(number(Role::Amount).unwrap_or(0)))
            }
            Event::CpuTime => (kind, self.header.duration(number(Role::Amount).unwrap_or(0))),
            _ => (kind, number(Role::Amount).unwrap_or(0)),
        };
        let trace = self.profile.traces.intern_stack(thread, stack);
        self.rows.add(kind, trace, class, amount, time);
        Some(())
    }

    /// Returns the number of a constant in the profile. `translate` is called once for each.
    fn once(&mut self, constant: Constant, translate: fn(&mut Self, Constant) -> u32) -> u32 {
        if let Some(known) = self.known.get(&constant) {
            return *known;
        }
        let number = translate(self, constant);
        self.known.insert(constant, number);
        number
    }

    /// Returns a text.
    fn name(&mut self, leaf: Leaf<'a>) -> NameId {
        let Leaf::Constant(constant) = leaf else {
            let text = self.layout.text(leaf, 0).unwrap_or_default();
            return self.profile.names.intern(&text);
        };
        NameId(self.once(constant, |chunk, constant| {
            let text = chunk.layout.text(Leaf::Constant(constant), 0).unwrap_or_default();
            chunk.profile.names.intern(&text).0
        }))
    }

    /// Returns the name of a class, with dots.
    fn class(&mut self, constant: Constant) -> NameId {
        NameId(self.once(constant, |chunk, constant| {
            let [name] = chunk.layout.fields(constant, ["name"]);
            let Leaf::Constant((of, number)) = name else { return chunk.dotted(name) };
            // Many classes may have one name, which may be long.
            chunk.once((!of, number), |chunk, (of, number)| {
                chunk.dotted(Leaf::Constant((!of, number)))
            })
        }))
    }

    fn dotted(&mut self, leaf: Leaf<'a>) -> u32 {
        let text = self.layout.text(leaf, 0).unwrap_or_default();
        self.profile.names.intern(&text.replace('/', ".")).0
    }

    fn state(&mut self, constant: Constant) -> Option<WallState> {
        let name = self.name(Leaf::Constant(constant));
        let name = self.profile.names.get(name);
        STATES.iter().find(|(state, _)| name.starts_with(state)).map(|(_, state)| *state)
    }

    fn thread(&mut self, constant: Constant) -> ThreadSerial {
        ThreadSerial(self.once(constant, |chunk, constant| {
            let names = ["javaName", "osName", "javaThreadId", "osThreadId", "group"];
            let [name, os_name, id, os_id, group] = chunk.layout.fields(constant, names);
            let name = match chunk.name(name) {
                NameId::EMPTY => chunk.name(os_name),
                name => name,
            };
            let id = match (id, os_id) {
                (Leaf::Number(id @ 1..), _) | (_, Leaf::Number(id)) => id,
                _ => 0,
            };
            let group = match group {
                Leaf::Constant(group) => {
                    chunk.layout.fields(group, ["name"]).map(|it| chunk.name(it))
                }
                _ => [NameId::EMPTY],
            };
            // A thread is another constant in the next chunk.
            let next = ThreadSerial(chunk.rows.threads.len() as u32 + 1);
            let serial = *chunk.rows.threads.entry((name, id)).or_insert(next);
            chunk.profile.threads.entry(serial).or_insert(Thread {
                serial,
                object: ObjectId(0),
                name,
                group: group[0],
                ..Thread::default()
            });
            serial.0
        }))
    }

    fn stack(&mut self, constant: Constant) -> StackId {
        StackId(self.once(constant, |chunk, constant| {
            let mut frames = Vec::new();
            let mut is_cut = false;
            chunk.layout.constant(
                constant,
                &mut |name, leaf| match (name, leaf, frames.last_mut()) {
                    ("truncated", Leaf::Number(number), _) => is_cut = number != 0,
                    ("frames", Leaf::Object, _) => frames.push([(0, 0); 3]),
                    ("method", Leaf::Constant(method), Some(frame)) => frame[0] = method,
                    ("lineNumber", Leaf::Number(line), Some(frame)) => frame[1].1 = line,
                    ("type", Leaf::Constant(kind), Some(frame)) => frame[2] = kind,
                    _ => {}
                },
            );
            let mut stack = StackId::EMPTY;
            if is_cut {
                let frame = chunk.profile.label_frame(Label::Truncated);
                stack = chunk.profile.traces.push(stack, frame);
            }
            for frame in frames.into_iter().rev() {
                let frame = chunk.frame(frame);
                stack = chunk.profile.traces.push(stack, frame);
            }
            stack.0
        }))
    }

    fn frame(&mut self, [method, (_, line), kind]: [Constant; 3]) -> FrameId {
        let kind = self.name(Leaf::Constant(kind));
        let line = match self.profile.names.get(kind) {
            NATIVE => Line::Native,
            _ => Line::from_code((line as i32).max(0)),
        };
        let method = MethodId(self.once(method, |chunk, constant| {
            let names = ["type", "name", "descriptor"];
            let [class, name, signature] = chunk.layout.fields(constant, names);
            let class = match class {
                Leaf::Constant(class) => chunk.class(class),
                _ => NameId::EMPTY,
            };
            let name = match chunk.name(name) {
                NameId::EMPTY => chunk.profile.names.intern("<unknown method>"),
                name => name,
            };
            let signature = chunk.name(signature);
            let method = Method { class, name, signature, source: NameId::EMPTY };
            chunk.profile.methods.intern(method).0
        }));
        self.profile.frames.intern(Frame { method, line })
    }
}

/// The samples of all chunks.
#[derive(Default)]
struct Rows {
    problem: Option<Error>,
    /// The beginning and the end, in nanoseconds since 1970.
    start: u64,
    end: u64,
    /// The numbers of threads, by their names and by those that the JVM gave them.
    threads: FxHashMap<(NameId, u64), ThreadSerial>,
    /// The number of events with the same stack and class, and the sum of their amounts.
    sums: IndexMap<(Event, TraceSerial, NameId), [u64; 2], FxBuildHasher>,
    /// The number of samples in each second.
    seconds: FxHashMap<(Event, u32, TraceSerial), u64>,
    /// The time between samples, by the settings.
    intervals: FxHashMap<Event, Duration>,
}

/// Adds to a number in a table.
fn add<K: Hash + Eq>(table: &mut FxHashMap<K, u64>, key: K, more: u64) {
    let sum = table.entry(key).or_default();
    *sum = sum.saturating_add(more);
}

impl Rows {
    fn fault(&mut self, at: usize, what: &str) {
        self.problem.get_or_insert_with(|| error(at, what));
    }

    fn add(&mut self, kind: Event, trace: TraceSerial, class: NameId, amount: u64, time: u64) {
        let [count, sum] = self.sums.entry((kind, trace, class)).or_default();
        (*count, *sum) = (*count + 1, sum.saturating_add(amount));
        let samples = match kind {
            Event::Cpu | Event::CpuTime => 1,
            Event::Wall => amount,
            _ => return,
        };
        let second = u32::try_from(time.saturating_sub(self.start) / 1_000_000_000);
        add(&mut self.seconds, (kind, second.unwrap_or(u32::MAX), trace), samples);
    }

    /// Returns the rows of a kind, largest first.
    fn of<T>(&self, kind: Event, row: impl Fn(TraceSerial, NameId, u64, u64) -> T) -> Vec<T> {
        let rows = self.sums.iter().filter(|((other, ..), _)| *other == kind);
        rows.map(|((_, trace, class), [count, sum])| row(*trace, *class, *count, *sum)).collect()
    }

    fn sections(mut self, profile: &mut Profile) -> Vec<Section> {
        self.sums.sort_by_key(|_, [count, sum]| u64::MAX - sum.max(count));
        let at = Some(Time(self.end / 1_000_000));
        let mut sections = Vec::new();
        let measured: [u64; 2] = self
            .of(Event::CpuTime, |_, _, count, sum| [count, sum])
            .iter()
            .fold([0; 2], |all, row| [all[0] + row[0], all[1].saturating_add(row[1])]);
        // A JVM that measures CPU time samples threads that run Java code twice.
        let cpu = if measured[0] > 0 { Event::CpuTime } else { Event::Cpu };
        for kind in [cpu, Event::Wall] {
            let rows = self.of(kind, |trace, _, count, sum| {
                let samples = if kind == Event::Wall { sum } else { count };
                CpuSample::new(trace, samples)
            });
            let period = measured[1].checked_div(measured[0]).filter(|_| kind == Event::CpuTime);
            let interval = period.map(Duration::from_nanos).or(self.intervals.get(&kind).copied());
            let total = rows.iter().map(|row| row.samples).fold(0, u64::saturating_add);
            if total > 0 {
                let timeline = self.timeline(kind);
                sections.push(CpuSamples { at, interval, total, rows, timeline }.into());
            }
        }
        sections.extend(self.sites(profile).map(|sites| Sites { at, ..sites }.into()));
        let rows = self.of(Event::Monitor, |trace, class, hits, time| MonitorTime {
            monitor: Monitor::Java { object: ObjectId(0), class },
            trace,
            hits,
            time: Duration::from_nanos(time),
        });
        let total = rows.iter().map(|row| row.time).sum();
        sections.extend((!rows.is_empty()).then(|| MonitorTimes { at, total, rows }.into()));
        sections
    }

    fn sites(&self, profile: &mut Profile) -> Option<Sites> {
        let mut rows: IndexMap<_, Site, FxBuildHasher> = IndexMap::default();
        let mut sites = Sites::default();
        for kind in [Event::Allocated, Event::Live] {
            for (trace, name, instances, bytes) in
                self.of(kind, |trace, name, count, sum| (trace, name, count, sum))
            {
                let class = profile.classes.named(name);
                let site = Site { class, trace, ..Site::default() };
                let site = rows.entry((trace, name)).or_insert(site);
                let (all, one) = match kind {
                    Event::Live => (&mut sites.live, &mut site.live),
                    _ => (&mut sites.allocated, &mut site.allocated),
                };
                *one = Amount { bytes, instances };
                *all += *one;
            }
        }
        sites.rows = rows.into_values().collect();
        (!sites.rows.is_empty()).then_some(sites)
    }

    /// Returns the samples over time, in at most [`BUCKETS`] parts of it.
    fn timeline(&self, kind: Event) -> Timeline {
        let last = self.seconds.keys().map(|(_, second, _)| u64::from(*second)).max().unwrap_or(0);
        let length = (last + 1).div_ceil(BUCKETS) as u32;
        let mut buckets = FxHashMap::default();
        for ((of, second, trace), samples) in &self.seconds {
            if *of == kind {
                add(&mut buckets, (second / length, *trace), *samples);
            }
        }
        let row = |((bucket, trace), samples)| BucketSamples { bucket, trace, samples };
        let mut rows: Vec<_> = buckets.into_iter().map(row).collect();
        rows.sort_unstable_by_key(|row| (row.bucket, row.trace));
        Timeline { bucket: Duration::from_secs(length.into()), rows }
    }
}
