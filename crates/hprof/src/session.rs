//! The data that is recorded from the start of profiling to its end.

use crate::call_times::{CallCosts, Cost, Limit};
use crate::monitor_times::Waits;
use crate::mutex::lock;
use crate::sites::{Counts, SiteKey, Sites};
use crate::timeline::Timeline;
use crate::weights::{Tally, Weights};
use jvmpi_formats::hprof::control::SiteFlags;
use jvmpi_formats::hprof::options::Options;
use jvmpi_formats::profile::{
    self, Call, CpuOld, CpuSample, CpuSamples, CpuTimes, HeapSummary, Profile, Site, StackId,
    StackTime, ThreadSerial, Time, TraceSerial,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// One recording, from JVM_OnLoad or an attach to the end of profiling.
#[derive(Debug)]
pub struct Session {
    /// The options of the user.
    pub options: Options,
    /// The allocation sites.
    pub sites: Sites,
    /// The waits for monitors and locks.
    pub waits: Mutex<Waits>,
    /// Limits the number of stacks that have times.
    pub contexts: Arc<Limit>,
    depth: AtomicUsize,
    alloc_depth: AtomicUsize,
    threads: Mutex<Threads>,
    samples: Mutex<FxHashMap<TraceSerial, CpuSample>>,
    /// The samples over time, if the output shows them.
    timeline: Option<Mutex<Timeline>>,
    dumped: Mutex<Dumped>,
}

/// The counts of all threads.
#[derive(Debug, Default)]
struct Threads {
    /// The tables of live threads, by `JNIEnv *`.
    live: FxHashMap<usize, Tables>,
    /// The sums of ended threads.
    ended: Sums,
}

#[derive(Debug)]
struct Tables {
    serial: ThreadSerial,
    calls: Arc<CallCosts>,
    allocated: Arc<Counts>,
}

/// The counts of several threads together.
#[derive(Clone, Debug, Default)]
struct Sums {
    /// By stack number: all threads together, or those without a number.
    calls: Vec<Cost>,
    /// The costs of threads with a number, if each counts by itself.
    calls_of_threads: Vec<StackTime>,
    allocated: FxHashMap<u32, Tally>,
}

impl Sums {
    fn add(&mut self, tables: &Tables, threads: bool) {
        let serial = if threads { tables.serial } else { ThreadSerial(0) };
        tables.calls.each(|stack, cost| {
            if cost == Cost::default() {
                return;
            }
            if serial != ThreadSerial(0) {
                self.calls_of_threads.push(cost.at(serial, stack));
                return;
            }
            let place = stack.0 as usize;
            if self.calls.len() <= place {
                self.calls.resize(place + 1, Cost::default());
            }
            self.calls[place].calls += cost.calls;
            self.calls[place].time += cost.time;
        });
        tables.allocated.add_to(&mut self.allocated);
    }
}

impl Cost {
    fn at(self, thread: ThreadSerial, stack: StackId) -> StackTime {
        StackTime { thread, stack, own: Duration::from_nanos(self.time), calls: self.calls }
    }
}

/// The values that earlier dumps have written.
#[derive(Debug, Default)]
struct Dumped {
    own_times: FxHashMap<(ThreadSerial, StackId), Duration>,
    /// The sites as they were last written.
    sites: FxHashMap<SiteKey, (Tally, Tally)>,
    /// The allocated amounts when sites were cleared.
    cleared: FxHashMap<SiteKey, Tally>,
}

/// Counts samples of a trace.
fn add(samples: &mut FxHashMap<TraceSerial, CpuSample>, trace: TraceSerial, number: u64) {
    let row = samples.entry(trace).or_insert(CpuSample::new(trace, 0));
    row.samples += number;
    row.hits += number;
}

impl Session {
    /// Creates an empty session.
    pub fn new(options: Options) -> Self {
        Self {
            contexts: Arc::new(Limit::new(options.contexts as usize)),
            depth: AtomicUsize::new(options.depth.into()),
            alloc_depth: AtomicUsize::new(options.alloc_depth.unwrap_or(options.depth).into()),
            timeline: options.shows_timeline().then(|| Mutex::new(Timeline::new())),
            options,
            sites: Sites::default(),
            waits: Mutex::default(),
            threads: Mutex::default(),
            samples: Mutex::default(),
            dumped: Mutex::default(),
        }
    }

    /// Returns the maximum number of frames of a trace.
    pub fn depth(&self) -> usize {
        self.depth.load(Ordering::Relaxed)
    }

    /// Returns the maximum number of frames of an allocation trace.
    pub fn alloc_depth(&self) -> usize {
        self.alloc_depth.load(Ordering::Relaxed)
    }

    /// Sets the maximum number of frames of all traces.
    pub fn set_depth(&self, depth: u16) {
        self.depth.store(depth.into(), Ordering::Relaxed);
        self.alloc_depth.store(depth.into(), Ordering::Relaxed);
    }

    /// Registers a thread that counts in these tables.
    pub fn add_thread(
        &self,
        env: usize,
        serial: ThreadSerial,
        calls: Arc<CallCosts>,
        allocated: Arc<Counts>,
    ) {
        self.end_thread(env);
        lock(&self.threads).live.insert(env, Tables { serial, calls, allocated });
    }

    /// Gives a thread its number. Returns true if it has already counted without one: events may precede its
    /// THREAD_START.
    pub fn name_thread(&self, env: usize, serial: ThreadSerial) -> bool {
        let mut threads = lock(&self.threads);
        let nameless = threads.live.get_mut(&env).filter(|tables| tables.serial == ThreadSerial(0));
        nameless.is_some_and(|tables| {
            tables.serial = serial;
            true
        })
    }

    /// Adds the counts of a thread that ends to the sums.
    pub fn end_thread(&self, env: usize) {
        let mut threads = lock(&self.threads);
        if let Some(tables) = threads.live.remove(&env) {
            threads.ended.add(&tables, self.options.threads);
            self.contexts.give_back(tables.calls.taken());
        }
    }

    /// Returns the weights of reported objects.
    pub fn weights(&self) -> Weights {
        Weights::new(self.options.sample)
    }

    /// Counts an object whose allocating thread is not known.
    pub fn add_without_trace(&self, site: u32, size: u64) {
        let mut threads = lock(&self.threads);
        let sum = threads.ended.allocated.entry(site).or_default();
        sum.add(self.weights().of(size));
    }

    fn sums(&self) -> Sums {
        let threads = lock(&self.threads);
        let mut sums = threads.ended.clone();
        threads.live.values().for_each(|tables| sums.add(tables, self.options.threads));
        sums
    }

    /// Counts samples: a number for each trace.
    pub fn add_samples(&self, traces: impl IntoIterator<Item = (TraceSerial, u64)>) {
        let mut samples = lock(&self.samples);
        for (trace, number) in traces.into_iter().filter(|(_, number)| *number > 0) {
            add(&mut samples, trace, number);
            if let Some(timeline) = &self.timeline {
                lock(timeline).add(trace, number);
            }
        }
    }

    /// Counts samples that threads did not take when they were due.
    pub fn add_late_samples(&self, traces: &[(TraceSerial, u64)]) {
        let mut samples = lock(&self.samples);
        for (trace, number) in traces.iter().filter(|(_, number)| *number > 0) {
            add(&mut samples, *trace, *number);
        }
        if let Some(timeline) = &self.timeline {
            lock(timeline).add_late(traces);
        }
    }

    fn clear_timeline(&self) {
        if let Some(timeline) = &self.timeline {
            lock(timeline).clear();
        }
    }

    /// Returns the section of CPU samples. With `clear`, the next section starts from zero samples.
    pub fn cpu_samples(&self, cutoff: f64, clear: bool) -> CpuSamples {
        let mut samples = lock(&self.samples);
        let rows: Vec<_> = samples.values().copied().collect();
        if clear {
            samples.values_mut().for_each(|row| row.samples = 0);
        }
        let total = rows.iter().map(|row| row.samples).sum();
        let interval = Some(self.options.interval);
        let timeline = self.timeline.as_ref().map(|timeline| lock(timeline).section());
        let timeline = timeline.unwrap_or_default();
        let mut section = CpuSamples { at: Some(Time::now()), interval, total, rows, timeline };
        section.rank(cutoff as f32);
        let kept: FxHashSet<_> = section.rows.iter().map(|row| row.trace).collect();
        section.timeline.rows.retain(|row| kept.contains(&row.trace));
        if clear {
            self.clear_timeline();
        }
        section
    }

    /// Returns the stacks in which methods were called since the start, in no order.
    fn all_calls(&self) -> Vec<StackTime> {
        let Sums { calls, calls_of_threads: mut rows, .. } = self.sums();
        let calls = (0..).zip(calls).filter(|(_, cost)| *cost != Cost::default());
        rows.extend(calls.map(|(stack, cost)| cost.at(ThreadSerial(0), StackId(stack))));
        rows
    }

    /// Returns the section of CPU times without rows, and its rows by stack, in no order. With `clear`, the next section
    /// has only later times. The number of calls is never cleared.
    pub fn call_times(&self, clear: bool) -> (CpuTimes, Vec<StackTime>) {
        let mut dumped = lock(&self.dumped);
        let mut rows = self.all_calls();
        for row in &mut rows {
            let key = (row.thread, row.stack);
            let before = if clear {
                dumped.own_times.insert(key, row.own)
            } else {
                dumped.own_times.get(&key).copied()
            };
            row.own = row.own.saturating_sub(before.unwrap_or_default());
        }
        let total = rows.iter().map(|row| row.own).sum();
        let (at, over) = (Some(Time::now()), self.options.over);
        (CpuTimes { at, total, over, rows: Vec::new() }, rows)
    }

    /// Returns the section of `cpu=old`.
    pub fn cpu_old(&self, profile: &Profile) -> CpuOld {
        let row = |StackTime { stack, own: time, calls: count, .. }| {
            let frames = profile.traces.path(stack).iter();
            let mut methods = frames.filter_map(|id| Some(profile.frames.get(id)?.method));
            Call { count, callee: methods.next(), caller: methods.next(), time }
        };
        let mut section = CpuOld { rows: self.all_calls().into_iter().map(row).collect() };
        section.rank();
        section
    }

    /// Returns the section of allocation sites. `freed` has the dead objects, by site number. With `live=y` it has
    /// only the live objects, also as allocated ones.
    pub fn sites(&self, freed: &[Tally], flags: SiteFlags, cutoff: f64) -> profile::Sites {
        let survivors = self.options.live;
        let allocated = self.sums().allocated;
        let mut dumped = lock(&self.dumped);
        let mut section = profile::Sites {
            at: Some(Time::now()),
            incremental: flags.incremental(),
            by_allocation: flags.by_allocation(),
            ..profile::Sites::default()
        };
        let mut sums = (Tally::default(), Tally::default());
        for number in 0..self.sites.count() as u32 {
            let Some(key) = self.sites.key(number) else { continue };
            let all = allocated.get(&number).copied().unwrap_or_default();
            let live = all.less(freed.get(number as usize).copied().unwrap_or_default());
            let allocated = match survivors {
                true => live,
                false => all.less(dumped.cleared.get(&key).copied().unwrap_or_default()),
            };
            sums.0.add(live);
            sums.1.add(allocated);
            let is_old = dumped.sites.insert(key, (live, allocated)) == Some((live, allocated));
            let SiteKey { class, array_of, trace } = key;
            let is_shown = if survivors { live.parts > 0 } else { all.parts > 0 };
            if is_shown && !(flags.incremental() && is_old) {
                let (live, allocated) = (live.amount(), allocated.amount());
                section.rows.push(Site { class, array_of, trace, live, allocated });
            }
        }
        (section.live, section.allocated) = (sums.0.amount(), sums.1.amount());
        section.rank(cutoff as f32);
        section
    }

    /// Returns the size of the heap. `freed` has the dead objects, by site number.
    pub fn heap_summary(&self, freed: &[Tally]) -> HeapSummary {
        let mut allocated = Tally::default();
        self.sums().allocated.values().for_each(|site| allocated.add(*site));
        let mut dead = Tally::default();
        freed.iter().for_each(|site| dead.add(*site));
        let (live, allocated) = (allocated.less(dead).amount(), allocated.amount());
        HeapSummary { at: Some(Time::now()), live, allocated }
    }

    /// Deletes all counts.
    pub fn forget(&self) {
        *lock(&self.threads) = Threads::default();
        *lock(&self.samples) = FxHashMap::default();
        self.clear_timeline();
        *lock(&self.dumped) = Dumped::default();
        *lock(&self.waits) = Waits::default();
    }

    /// Restarts times and samples at zero. The numbers of calls and hits are kept.
    pub fn clear_costs(&self) {
        self.clear_samples();
        lock(&self.waits).clear_times();
        self.call_times(true);
    }

    /// Restarts samples at zero. The number of hits is kept.
    pub fn clear_samples(&self) {
        lock(&self.samples).values_mut().for_each(|row| row.samples = 0);
        self.clear_timeline();
    }

    /// Restarts the allocated amounts at zero. The live amounts are kept.
    pub fn clear_sites(&self) {
        let allocated = self.sums().allocated;
        let cleared = allocated
            .into_iter()
            .filter_map(|(site, amount)| Some((self.sites.key(site)?, amount)));
        lock(&self.dumped).cleared = cleared.collect();
    }
}
