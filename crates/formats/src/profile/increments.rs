//! The profile since the last time: what is new in a dump that repeats everything.

use crate::profile::model::{
    Amount, ClassSerial, CpuSample, CpuSamples, CpuTime, CpuTimes, Monitor, MonitorTime,
    MonitorTimes, Section, Site, Sites, TraceSerial, Type, nanoseconds,
};
use rustc_hash::FxHashMap;
use std::mem;
use std::time::Duration;

/// The totals of a run at one time. [`Self::next`] subtracts them from later ones.
#[derive(Debug, Default)]
pub struct Increments(FxHashMap<Row, Total>);

/// The subject of a row.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Row {
    Sample(TraceSerial),
    Time(TraceSerial),
    Monitor(Monitor, TraceSerial),
    Site(ClassSerial, Option<Type>, TraceSerial),
}

/// The numbers of a row.
#[derive(Clone, Copy, Default, Debug)]
struct Total {
    /// Samples, nanoseconds or bytes.
    amount: u64,
    /// Hits, calls or objects.
    count: u64,
    /// Objects that live, of a site.
    live: Amount,
}

impl Total {
    fn add(&mut self, amount: u64, count: u64) {
        self.amount = self.amount.saturating_add(amount);
        self.count = self.count.saturating_add(count);
    }
}

impl Increments {
    /// Takes all sections of the run so far, and returns those with the numbers since the last call.
    ///
    /// Samples, times and allocated objects are differences. Live objects are the present ones. Dumps of monitors and
    /// of the heap are left out.
    pub fn next<'a>(&mut self, sections: impl Iterator<Item = &'a Section>) -> Vec<Section> {
        let mut totals: FxHashMap<Row, Total> = FxHashMap::default();
        let (mut samples, mut times) = (CpuSamples::default(), CpuTimes::default());
        let (mut monitors, mut sites) = (MonitorTimes::default(), Sites::default());
        let mut last_sites = None;
        for section in sections {
            match section {
                Section::CpuSamples(section) => {
                    samples.at = section.at.or(samples.at);
                    samples.interval = section.interval.or(samples.interval);
                    for row in &section.rows {
                        let total = totals.entry(Row::Sample(row.trace)).or_default();
                        total.add(row.samples, 0);
                        // The column counts from the beginning.
                        total.count = row.hits;
                    }
                }
                Section::CpuTimes(section) => {
                    times.at = section.at.or(times.at);
                    times.over = section.over;
                    for row in &section.rows {
                        let total = totals.entry(Row::Time(row.trace)).or_default();
                        total.add(nanoseconds(row.own), 0);
                        total.count = row.calls;
                    }
                }
                Section::MonitorTimes(section) => {
                    monitors.at = section.at.or(monitors.at);
                    for row in &section.rows {
                        let total = totals.entry(Row::Monitor(row.monitor, row.trace)).or_default();
                        total.add(nanoseconds(row.time), row.hits);
                    }
                }
                // The last one covers the whole run.
                Section::Sites(section) => last_sites = Some(section),
                _ => {}
            }
        }
        if let Some(section) = last_sites {
            (sites.at, sites.live) = (section.at, section.live);
            for row in &section.rows {
                let row_of = Row::Site(row.class, row.array_of, row.trace);
                let total = totals.entry(row_of).or_default();
                total.add(row.allocated.bytes, row.allocated.instances);
                total.live += row.live;
            }
        }
        let before = mem::replace(&mut self.0, totals);
        for (row, total) in &self.0 {
            let before = before.get(row).copied().unwrap_or_default();
            let amount = total.amount.saturating_sub(before.amount);
            let count = total.count.saturating_sub(before.count);
            match *row {
                Row::Site(class, array_of, trace) => {
                    let allocated = Amount { bytes: amount, instances: count };
                    if allocated != Amount::default() || total.live != Amount::default() {
                        sites.allocated += allocated;
                        sites.rows.push(Site {
                            class,
                            array_of,
                            trace,
                            live: total.live,
                            allocated,
                        });
                    }
                }
                _ if amount == 0 => {}
                Row::Sample(trace) => {
                    samples.total = samples.total.saturating_add(amount);
                    samples.rows.push(CpuSample { trace, samples: amount, hits: total.count });
                }
                Row::Time(trace) => {
                    let own = Duration::from_nanos(amount);
                    times.total = times.total.saturating_add(own);
                    times.rows.push(CpuTime { trace, own, calls: total.count });
                }
                Row::Monitor(monitor, trace) => {
                    let time = Duration::from_nanos(amount);
                    monitors.total = monitors.total.saturating_add(time);
                    monitors.rows.push(MonitorTime { monitor, trace, hits: count, time });
                }
            }
        }
        samples.rows.sort_unstable_by_key(|row| (u64::MAX - row.samples, row.trace));
        times.rows.sort_unstable_by(|a, b| b.own.cmp(&a.own).then(a.trace.cmp(&b.trace)));
        monitors.rows.sort_unstable_by(|a, b| b.time.cmp(&a.time).then(a.trace.cmp(&b.trace)));
        sites
            .rows
            .sort_unstable_by_key(|row| (u64::MAX - row.allocated.bytes, row.trace, row.class));
        let mut new = Vec::new();
        new.extend((!samples.rows.is_empty()).then(|| samples.into()));
        new.extend((!times.rows.is_empty()).then(|| times.into()));
        new.extend((!monitors.rows.is_empty()).then(|| monitors.into()));
        new.extend((!sites.rows.is_empty()).then(|| sites.into()));
        new
    }
}
