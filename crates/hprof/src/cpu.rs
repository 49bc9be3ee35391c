//! `cpu=samples`: samples of CPU time, which threads take themselves when they have used an interval of it.
//!
//! The sum of all samples is the CPU time of the process. What no stack accounts for has a name in place of a stack
//! ([`Label`]).

use crate::cpu_state::{Cpu, Kinds, State};
use crate::message::error;
use crate::mutex::lock;
use crate::orders::Sampled;
use crate::session::Session;
use crate::shared::Shared;
use crate::symbols::Symbols;
use jvm::platform::cpu_clock::of_process;
use jvmpi::{CpuSample, CpuSampleKind, Frames, GcDisabled, MultiThreaded};
use jvmpi_formats::profile::{Label, ThreadSerial, TraceSerial};
use std::sync::Arc;
use std::time::Duration;

/// The time after which the sampling thread looks again if there are no samples to be had.
const LATER: Duration = Duration::from_secs(1);

impl Cpu {
    /// Counts the samples that wait, and starts sampling first if it is off. Does nothing if another session has begun.
    /// Returns the time after which it should be called again.
    pub fn collect(
        &mut self,
        shared: &Shared,
        session: &Arc<Session>,
        jvmpi: &mut MultiThreaded<'_>,
        sampled: &Sampled,
    ) -> Duration {
        if !Arc::ptr_eq(session, &shared.session()) {
            return LATER;
        }
        let depth = session.depth().max(1);
        if let State::On(_, frames) = &self.state
            && frames.depth() != depth
        {
            self.state = State::Off;
        }
        if let State::Off = self.state {
            self.state = match jvmpi.start_cpu_samples(session.options.interval, depth) {
                Ok(sampler) => State::On(sampler, Frames::with_depth(depth)),
                Err(why) => {
                    error(&why);
                    State::Over
                }
            };
            match of_process() {
                Some(now) if self.counted > 0 => self.clock = now,
                Some(_) => {}
                None => error(
                    &"cannot read the CPU time of the process: that of native code is missing",
                ),
            }
        }
        let Self { state: State::On(sampler, frames), clock, used, counted, kinds } = self else {
            return LATER;
        };
        let now = of_process().unwrap_or(*clock);
        let passed = now.saturating_sub(std::mem::replace(clock, now));
        if *sampled == Sampled::ALL {
            *used += passed;
        }
        let mut jvmpi = jvmpi.disable_gc();
        loop {
            match sampler.next(&mut jvmpi, frames) {
                Err(wait) => return wait,
                Ok(sample) => {
                    let object = sample.object.map_or(0, |object| object.as_usize() as u64);
                    if sampled.has(object) {
                        *counted += u64::from(sample.count);
                        count(shared, session, &mut jvmpi, &sample, kinds);
                    }
                }
            }
        }
    }
}

impl Shared {
    /// Counts the samples of CPU time that wait, and the CPU time that no sample stands for. Called before samples are
    /// written, with `is_last` before the last time.
    pub fn complete_cpu_samples(
        &self,
        session: &Arc<Session>,
        jvmpi: &mut MultiThreaded<'_>,
        is_last: bool,
    ) {
        let sampled = self.sampler.enter(jvmpi).borrow().sampled.clone();
        let mut cpu = lock(&self.cpu);
        let State::On(..) = cpu.state else { return };
        cpu.collect(self, session, jvmpi, &sampled);
        session.add_late_samples(&cpu.kinds.distribute_missed());
        let unknown = if is_last { cpu.kinds.take_missed() } else { 0 };
        let of_vm = cpu.take_rest(session.options.interval);
        for (label, number) in [(Label::UnknownJava, unknown), (Label::Vm, of_vm)] {
            let trace = lock(&self.known).label(ThreadSerial(0), label);
            session.add_samples([(trace, number)]);
        }
    }
}

/// Counts a sample.
fn count(
    shared: &Shared,
    session: &Session,
    jvmpi: &mut GcDisabled<'_>,
    sample: &CpuSample<'_>,
    kinds: &mut Kinds,
) {
    shared.learn_methods(jvmpi, sample.frames);
    let is_own = sample.thread.is_some_and(|thread| lock(&shared.own).contains(&thread));
    let mut known = lock(&shared.known);
    let (number, kind) = (u64::from(sample.count), kinds.of(&known, sample));
    if sample.kind == CpuSampleKind::Ended {
        *kinds.missed.entry(kind).or_default() += number;
        return;
    }
    let trace = trace_of(shared, session, &mut known, sample, is_own);
    drop(known);
    // Samples of a thread's start are never missed, because its timer expires when it is set.
    if sample.kind == CpuSampleKind::Java {
        *kinds.samples.entry(kind).or_default().entry(trace).or_default() += number;
    }
    session.add_samples([(trace, number)]);
}

fn trace_of(
    shared: &Shared,
    session: &Session,
    known: &mut Symbols,
    sample: &CpuSample<'_>,
    is_own: bool,
) -> TraceSerial {
    let label = match sample.kind {
        _ if is_own => Label::Profiler,
        CpuSampleKind::Java => {
            let object = sample.object.map_or(0, |object| object.as_usize() as u64);
            let thread = known.thread_of_object(object).filter(|_| session.options.threads);
            let serial = thread.map_or(ThreadSerial(0), |thread| thread.serial);
            let depth = session.depth();
            let is_cut = sample.truncated || sample.frames.len() > depth;
            let frames = sample.frames.iter().take(depth);
            let frames = frames.map(|frame| shared.raw_frame(session, frame));
            return known.trace(serial, None, frames, is_cut && session.options.shows_timeline());
        }
        CpuSampleKind::Gc => Label::Gc,
        CpuSampleKind::Compiler => Label::Compiler,
        CpuSampleKind::Profiler => Label::Profiler,
        CpuSampleKind::Vm => Label::Vm,
        _ => Label::UnknownJava,
    };
    known.label(ThreadSerial(0), label)
}
