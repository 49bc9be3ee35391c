//! The profile since the last time: what is new in a dump that repeats everything.

use crate::profile::model::{
    Amount, ClassSerial, CpuSample, CpuSamples, CpuTime, CpuTimes, Monitor, MonitorTime,
    MonitorTimes, Section, Site, Sites, TraceSerial, Type,
};
use rustc_hash::FxHashMap;
use std::hash::Hash;
use std::time::Duration;

/// The totals of a run at one time. [`Self::next`] subtracts them from later ones.
#[derive(Debug, Default)]
pub struct Increments {
    samples: FxHashMap<TraceSerial, [u64; 2]>,
    times: FxHashMap<TraceSerial, (Duration, u64)>,
    monitors: FxHashMap<(Monitor, TraceSerial), (Duration, u64)>,
    allocated: FxHashMap<(ClassSerial, Option<Type>, TraceSerial), Amount>,
}

impl Increments {
    /// Takes all sections of the run so far, and returns those with the numbers since the last call.
    ///
    /// Samples, times and allocated objects are differences. Live objects are the present ones. Dumps of monitors and
    /// of the heap are left out.
    pub fn next<'a>(
        &mut self,
        sections: impl Iterator<Item = &'a Section> + Clone,
    ) -> Vec<Section> {
        let mut new = Vec::new();
        self.samples(sections.clone(), &mut new);
        self.times(sections.clone(), &mut new);
        self.monitors(sections.clone(), &mut new);
        self.sites(sections, &mut new);
        new
    }

    fn samples<'a>(&mut self, sections: impl Iterator<Item = &'a Section>, new: &mut Vec<Section>) {
        let (mut totals, mut head) = (FxHashMap::default(), CpuSamples::default());
        for section in sections {
            let Section::CpuSamples(section) = section else { continue };
            head.at = section.at.or(head.at);
            head.interval = section.interval.or(head.interval);
            for row in &section.rows {
                let [samples, hits] = totals.entry(row.trace).or_insert([0_u64; 2]);
                *samples = samples.saturating_add(row.samples);
                *hits = row.hits;
            }
        }
        for (trace, [samples, hits], [before, _]) in changed(&mut self.samples, totals) {
            let samples = samples.saturating_sub(before);
            if samples > 0 {
                head.total = head.total.saturating_add(samples);
                head.rows.push(CpuSample { trace, samples, hits });
            }
        }
        head.rows.sort_unstable_by_key(|row| (u64::MAX - row.samples, row.trace));
        new.extend((!head.rows.is_empty()).then(|| head.into()));
    }

    fn times<'a>(&mut self, sections: impl Iterator<Item = &'a Section>, new: &mut Vec<Section>) {
        let (mut totals, mut head) = (FxHashMap::default(), CpuTimes::default());
        for section in sections {
            let Section::CpuTimes(section) = section else { continue };
            head.at = section.at.or(head.at);
            for row in &section.rows {
                let (own, calls) = totals.entry(row.trace).or_insert((Duration::ZERO, 0_u64));
                *own = own.saturating_add(row.own);
                *calls = row.calls;
            }
        }
        for (trace, (own, calls), (before, _)) in changed(&mut self.times, totals) {
            let own = own.saturating_sub(before);
            if !own.is_zero() {
                head.total = head.total.saturating_add(own);
                head.rows.push(CpuTime { trace, own, calls });
            }
        }
        head.rows.sort_unstable_by(|a, b| b.own.cmp(&a.own).then(a.trace.cmp(&b.trace)));
        new.extend((!head.rows.is_empty()).then(|| head.into()));
    }

    fn monitors<'a>(
        &mut self,
        sections: impl Iterator<Item = &'a Section>,
        new: &mut Vec<Section>,
    ) {
        let (mut totals, mut head) = (FxHashMap::default(), MonitorTimes::default());
        for section in sections {
            let Section::MonitorTimes(section) = section else { continue };
            head.at = section.at.or(head.at);
            for row in &section.rows {
                let key = (row.monitor, row.trace);
                let (time, hits) = totals.entry(key).or_insert((Duration::ZERO, 0_u64));
                *time = time.saturating_add(row.time);
                *hits = hits.saturating_add(row.hits);
            }
        }
        let all = changed(&mut self.monitors, totals);
        for ((monitor, trace), (time, hits), (time_before, hits_before)) in all {
            let time = time.saturating_sub(time_before);
            if !time.is_zero() {
                let hits = hits.saturating_sub(hits_before);
                head.total = head.total.saturating_add(time);
                head.rows.push(MonitorTime { monitor, trace, hits, time });
            }
        }
        head.rows.sort_unstable_by(|a, b| b.time.cmp(&a.time).then(a.trace.cmp(&b.trace)));
        new.extend((!head.rows.is_empty()).then(|| head.into()));
    }

    fn sites<'a>(&mut self, sections: impl Iterator<Item = &'a Section>, new: &mut Vec<Section>) {
        // The last section covers the whole run.
        let all = sections.filter_map(|section| match section {
            Section::Sites(sites) => Some(sites),
            _ => None,
        });
        let Some(sites) = all.last() else { return };
        let mut live = FxHashMap::<_, Amount>::default();
        let mut totals = FxHashMap::<_, Amount>::default();
        for row in &sites.rows {
            let key = (row.class, row.array_of, row.trace);
            add(live.entry(key).or_default(), row.live);
            add(totals.entry(key).or_default(), row.allocated);
        }
        let mut rows = Vec::new();
        for (key, total, before) in changed(&mut self.allocated, totals) {
            let (class, array_of, trace) = key;
            let live = live.get(&key).copied().unwrap_or_default();
            let allocated = Amount {
                bytes: total.bytes.saturating_sub(before.bytes),
                instances: total.instances.saturating_sub(before.instances),
            };
            if allocated != Amount::default() || live != Amount::default() {
                rows.push(Site { class, array_of, trace, live, allocated });
            }
        }
        rows.sort_unstable_by_key(|row| (u64::MAX - row.allocated.bytes, row.trace, row.class));
        let mut allocated = Amount::default();
        rows.iter().for_each(|row| add(&mut allocated, row.allocated));
        let head = Sites { at: sites.at, live: sites.live, allocated, rows, ..Sites::default() };
        new.extend((!head.rows.is_empty()).then(|| head.into()));
    }
}

fn add(sum: &mut Amount, more: Amount) {
    sum.bytes = sum.bytes.saturating_add(more.bytes);
    sum.instances = sum.instances.saturating_add(more.instances);
}

/// Replaces the totals. Returns each key with its new and its old total.
fn changed<K: Eq + Hash + Copy, V: Copy + Default>(
    totals: &mut FxHashMap<K, V>,
    new: FxHashMap<K, V>,
) -> impl Iterator<Item = (K, V, V)> {
    let old = std::mem::replace(totals, new);
    let all: Vec<_> = totals.iter().map(|(key, value)| (*key, *value)).collect();
    all.into_iter()
        .map(move |(key, value)| (key, value, old.get(&key).copied().unwrap_or_default()))
}
