//! The values measured at stacks: CPU samples and times, allocation sites, waits for monitors.

use std::borrow::Cow;
use std::time::Duration;

use jvmpi_formats::profile::heap::type_name;
use jvmpi_formats::profile::{Amount, Monitor, Profile, TraceSerial};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::column;
use super::shared::{NONE, Shared};
use crate::input::microseconds;

/// Rows with the same measures. A row is a stack, in a thread if stacks are kept by thread, and its
/// object: the class of the allocated objects, or the monitor that was waited for.
#[derive(Serialize, Deserialize)]
pub(super) struct Table {
    pub(super) kind: Cow<'static, str>,
    /// The maximum number of frames of a row's stack.
    pub(super) depth: u32,
    #[serde(with = "column")]
    pub(super) node: Vec<u32>,
    #[serde(with = "column")]
    pub(super) thread: Vec<i32>,
    #[serde(with = "column")]
    pub(super) object: Vec<i32>,
    pub(super) measures: Vec<Measure>,
    /// The values of the only measure over time, if they are known.
    pub(super) times: Option<Times>,
}

/// The values of rows in buckets of time.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Times {
    /// The duration of a bucket in microseconds. The first begins with the recording.
    pub(super) bucket: u64,
    /// For each value, the number of the bucket.
    pub(super) number: Vec<u64>,
    pub(super) row: Vec<u32>,
    pub(super) value: Vec<u64>,
}

/// A counted or measured quantity.
#[derive(Serialize, Deserialize)]
pub(super) struct Measure {
    pub(super) name: Cow<'static, str>,
    pub(super) title: Cow<'static, str>,
    pub(super) unit: Unit,
    /// For each profile, a value for each row.
    #[serde(
        serialize_with = "column::serialize_all",
        deserialize_with = "column::deserialize_all"
    )]
    pub(super) values: Vec<Vec<u64>>,
    /// For each profile, the total of all rows, including those that the profiler has cut off.
    pub(super) total: Vec<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Unit {
    Count,
    Microseconds,
    Bytes,
}

/// A table that is being built.
struct Growing<const MEASURES: usize> {
    table: Table,
    rows: Vec<Row<MEASURES>>,
    /// Values of the only measure in buckets of time: the bucket, the row and the value.
    times: Vec<(u64, Key, u64)>,
}

/// The node, the thread and the object of a row.
type Key = (u32, i32, i32);

/// Values of a profile for a row. Another one may have the same key.
struct Row<const MEASURES: usize> {
    key: Key,
    number: u32,
    values: [u64; MEASURES],
}

impl<const MEASURES: usize> Growing<MEASURES> {
    fn new(
        kind: &'static str,
        measures: [(&'static str, &'static str, Unit); MEASURES],
        profiles: usize,
    ) -> Self {
        let measures = measures.into_iter().map(|(name, title, unit)| Measure {
            name: name.into(),
            title: title.into(),
            unit,
            values: vec![Vec::new(); profiles],
            total: vec![0; profiles],
        });
        let measures = measures.collect();
        let (node, thread, object) = (Vec::new(), Vec::new(), Vec::new());
        let table =
            Table { kind: kind.into(), depth: 0, node, thread, object, measures, times: None };
        Self { table, rows: Vec::new(), times: Vec::new() }
    }

    /// Adds the values of a profile at a place.
    fn add(
        &mut self,
        number: usize,
        (node, thread): (u32, i32),
        object: i32,
        values: [u64; MEASURES],
    ) {
        self.rows.push(Row { key: (node, thread, object), number: number as u32, values });
    }

    /// Sets the totals, which are no less than the rows' sums.
    fn totals(&mut self, number: usize, totals: [u64; MEASURES]) {
        for (measure, total) in self.table.measures.iter_mut().zip(totals) {
            measure.total[number] = total;
        }
    }

    /// Adds a value of the only measure in a bucket of time.
    fn add_at(&mut self, bucket: u64, (node, thread): (u32, i32), object: i32, value: u64) {
        self.times.push((bucket, (node, thread, object), value));
    }

    /// Adds to the total of the only measure.
    fn add_total(&mut self, number: usize, more: u64) {
        self.table.measures[0].total[number] += more;
    }

    /// Returns the table, if it has rows. Its buckets are as long as `bucket`.
    fn finish(self, bucket: u64) -> Option<Table> {
        let Self { mut table, mut rows, times } = self;
        rows.sort_unstable_by_key(|row| row.key);
        for rows in rows.chunk_by(|one, next| one.key == next.key) {
            let (node, thread, object) = rows[0].key;
            table.node.push(node);
            table.thread.push(thread);
            table.object.push(object);
            for (place, measure) in table.measures.iter_mut().enumerate() {
                for (number, values) in (0..).zip(&mut measure.values) {
                    let own = rows.iter().filter(|row| row.number == number);
                    values.push(own.map(|row| row.values[place]).sum());
                }
            }
        }
        for measure in &mut table.measures {
            for (total, values) in measure.total.iter_mut().zip(&measure.values) {
                *total = (*total).max(values.iter().sum());
            }
        }
        if !times.is_empty() {
            rows.dedup_by_key(|row| row.key);
            let mut found = Times { bucket, ..Times::default() };
            for (number, key, value) in times {
                // Rows that were cut off have no place.
                let Ok(row) = rows.binary_search_by_key(&key, |row| row.key) else { continue };
                found.number.push(number);
                found.row.push(row as u32);
                found.value.push(value);
            }
            table.times = Some(found).filter(|found| !found.row.is_empty());
        }
        (!table.node.is_empty()).then_some(table)
    }
}

/// Returns all tables for which the profiles have data.
pub(super) fn tables(
    shared: &mut Shared,
    profiles: &[&Profile],
    intervals: &[Option<Duration>],
) -> Vec<Table> {
    let [cpu, wall] = samples(shared, profiles, intervals);
    let tables =
        [cpu, wall, times(shared, profiles), sites(shared, profiles), monitors(shared, profiles)];
    let depths = shared.code.tree.depths();
    let with_depth = |mut table: Table| {
        table.depth = table.node.iter().map(|node| depths[*node as usize]).max().unwrap_or(0);
        table
    };
    tables.into_iter().flatten().map(with_depth).collect()
}

/// Returns the CPU samples and the wall-clock samples, as time if the interval between two samples is known for
/// each profile. The objects of wall-clock samples are the states of the threads.
fn samples(
    shared: &mut Shared,
    profiles: &[&Profile],
    intervals: &[Option<Duration>],
) -> [Option<Table>; 2] {
    let intervals: Option<Vec<u64>> =
        intervals.iter().map(|interval| interval.map(microseconds)).collect();
    let (titles, unit) = match intervals {
        Some(_) => (["CPU time by samples", "Elapsed time by samples"], Unit::Microseconds),
        None => (["CPU samples", "Wall-clock samples"], Unit::Count),
    };
    let table = |kind, name, title| Growing::new(kind, [(name, title, unit)], profiles.len());
    let mut cpu = table("samples", "cpu-samples", titles[0]);
    let mut wall = table("wall", "wall-samples", titles[1]);
    // Buckets of several sections may differ.
    let sections = profiles.iter().flat_map(|profile| profile.cpu_samples());
    let buckets = sections.map(|section| microseconds(section.timeline.bucket));
    let longest = buckets.max().unwrap_or(0).max(1);
    for (number, profile) in profiles.iter().enumerate() {
        let each = intervals.as_ref().map_or(1, |intervals| intervals[number]);
        for section in profile.cpu_samples() {
            let mut is_wall = false;
            for row in &section.rows {
                let (place, object) = sampled(shared, number, profile, row.trace);
                is_wall |= object != NONE;
                let table = if object == NONE { &mut cpu } else { &mut wall };
                table.add(number, place, object, [row.samples * each]);
            }
            // Two recordings have no common time.
            for row in section.timeline.rows.iter().filter(|_| profiles.len() == 1) {
                let (place, object) = sampled(shared, number, profile, row.trace);
                let table = if object == NONE { &mut cpu } else { &mut wall };
                let start = microseconds(section.timeline.bucket) * u64::from(row.bucket);
                table.add_at(start / longest, place, object, row.samples * each);
            }
            let table = if is_wall { &mut wall } else { &mut cpu };
            table.add_total(number, section.total * each);
        }
    }
    [cpu.finish(longest), wall.finish(longest)]
}

/// Returns the place and the object of a sample: for a wall-clock sample, the state of the thread.
fn sampled(
    shared: &mut Shared,
    number: usize,
    profile: &Profile,
    trace: TraceSerial,
) -> ((u32, i32), i32) {
    match profile.state_of(trace) {
        Some((state, stack)) => {
            let object = shared.strings.number(state.label()).cast_signed();
            (shared.place_of_stack(number, profile, trace, stack), object)
        }
        None => (shared.place(number, profile, trace), NONE),
    }
}

fn times(shared: &mut Shared, profiles: &[&Profile]) -> Option<Table> {
    let are_long =
        profiles.iter().flat_map(|profile| profile.cpu_times()).any(|of| of.over.is_some());
    let [time, calls] = if are_long {
        ["Elapsed time of long calls", "Long calls"]
    } else {
        ["CPU time", "Method calls"]
    };
    let measures = [("cpu-time", time, Unit::Microseconds), ("calls", calls, Unit::Count)];
    let mut table = Growing::new("times", measures, profiles.len());
    for (number, profile) in profiles.iter().enumerate() {
        // In the order of the tree, most nodes and rows differ by one from those before, which takes a character.
        let ranks = profile.traces.ranks();
        let rank = |trace| ranks[profile.traces.frames_of(trace).id().0 as usize];
        let rows = profile.cpu_times().flat_map(|section| &section.rows);
        let mut rows: Vec<_> = rows.map(|row| (rank(row.trace), row)).collect();
        rows.sort_unstable_by_key(|(rank, row)| (*rank, row.trace));
        table.rows.reserve(rows.len());
        let mut rest = Duration::ZERO;
        for rows in rows.chunk_by(|(_, one), (_, next)| one.trace == next.trace) {
            let place = shared.place(number, profile, rows[0].1.trace);
            // A section has the times since the previous one, but the calls since the VM started.
            let calls = rows.iter().map(|(_, row)| row.calls).max().unwrap_or(0);
            // Fractions of a microsecond are carried over to the next row, so that the sum is right.
            rest += rows.iter().map(|(_, row)| row.own).sum::<Duration>();
            let whole = microseconds(rest);
            rest -= Duration::from_micros(whole);
            table.add(number, place, NONE, [whole, calls]);
        }
        let total = profile.cpu_times().map(|section| section.total).sum();
        table.totals(number, [microseconds(total), 0]);
    }
    table.finish(0)
}

fn sites(shared: &mut Shared, profiles: &[&Profile]) -> Option<Table> {
    let measures = [
        ("live-bytes", "Live bytes", Unit::Bytes),
        ("live-objects", "Live objects", Unit::Count),
        ("allocated-bytes", "Allocated bytes", Unit::Bytes),
        ("allocated-objects", "Allocated objects", Unit::Count),
    ];
    let mut table = Growing::new("sites", measures, profiles.len());
    for (number, profile) in profiles.iter().enumerate() {
        let Some(sites) = profile.sites().next_back() else { continue };
        for site in &sites.rows {
            let object = shared.strings.class(&profile.site_type(site)).cast_signed();
            let place = shared.place(number, profile, site.trace);
            table.add(number, place, object, amounts(site.live, site.allocated));
        }
        table.totals(number, amounts(sites.live, sites.allocated));
    }
    table.finish(0)
}

fn amounts(live: Amount, allocated: Amount) -> [u64; 4] {
    [live.bytes, live.instances, allocated.bytes, allocated.instances]
}

fn monitors(shared: &mut Shared, profiles: &[&Profile]) -> Option<Table> {
    let measures = [
        ("monitor-time", "Time blocked on monitors", Unit::Microseconds),
        ("contended", "Contended entries", Unit::Count),
    ];
    let mut table = Growing::new("monitors", measures, profiles.len());
    for (number, profile) in profiles.iter().enumerate() {
        // Times and hits are summed up in the same way as times and calls above.
        let mut rows: FxHashMap<(TraceSerial, String), (Duration, u64)> = FxHashMap::default();
        let mut hidden = Duration::ZERO;
        for row in profile.monitor_times().flat_map(|section| &section.rows) {
            if is_hidden(profile, row.monitor) {
                hidden += row.time;
                continue;
            }
            // IDs of several runs do not match.
            let name = monitor_name(profile, row.monitor, profiles.len() == 1);
            let (time, hits) = rows.entry((row.trace, name)).or_default();
            *time += row.time;
            *hits = row.hits.max(*hits);
        }
        let mut rows: Vec<_> = rows.into_iter().collect();
        rows.sort_unstable();
        for ((trace, name), (time, hits)) in rows {
            let place = shared.place(number, profile, trace);
            let object = shared.strings.number(&name).cast_signed();
            table.add(number, place, object, [microseconds(time), hits]);
        }
        let total: Duration = profile.monitor_times().map(|section| section.total).sum();
        table.totals(number, [microseconds(total.saturating_sub(hidden)), 0]);
    }
    table.finish(0)
}

/// Returns true if the monitor is one of the profiler's own, such as `_hprof heap`.
fn is_hidden(profile: &Profile, monitor: Monitor) -> bool {
    matches!(monitor, Monitor::Raw { name, .. } if profile.names.get(name).starts_with("_hprof"))
}

/// Returns `java.util.Vector@1f0` for an object's monitor, `"name"` for a raw one.
fn monitor_name(profile: &Profile, monitor: Monitor, with_id: bool) -> String {
    match monitor {
        Monitor::Java { object, class } => {
            let class = type_name(profile.names.get(class));
            if with_id { format!("{class}@{:x}", object.0) } else { class }
        }
        Monitor::Raw { name, .. } => format!("\"{}\"", profile.names.get(name)),
    }
}
