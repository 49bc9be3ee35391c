//! The state of `cpu=samples`, and the sums that are made from it when samples are written. The module
//! [`cpu`](crate::cpu) collects the samples.

use crate::symbols::Symbols;
use jvm::platform::cpu_clock::of_process;
use jvmpi::{CpuSample, CpuSampler, Frames};
use jvmpi_formats::profile::{NameId, ThreadSerial, TraceSerial};
use rustc_hash::FxHashMap;
use std::time::Duration;

/// The sampling of a recording.
#[derive(Debug)]
pub struct Cpu {
    pub state: State,
    /// The process's CPU time at the last look.
    pub clock: Duration,
    /// The CPU time that the process has used while all threads were sampled.
    pub used: Duration,
    /// The number of samples.
    pub counted: u64,
    pub kinds: Kinds,
}

/// The kinds of threads: threads of one group whose names differ in digits only. Samples that threads did not take before
/// they ended are distributed like those of their kind.
#[derive(Debug, Default)]
pub struct Kinds {
    by_name: FxHashMap<(NameId, String), u32>,
    by_thread: FxHashMap<ThreadSerial, u32>,
    /// The samples of each kind that have Java frames, by trace.
    pub samples: FxHashMap<u32, FxHashMap<TraceSerial, u64>>,
    /// The samples that threads of each kind did not take.
    pub missed: FxHashMap<u32, u64>,
}

impl Kinds {
    /// Returns the kind of a sample's thread. Unknown threads are a kind, too.
    pub fn of(&mut self, known: &Symbols, sample: &CpuSample<'_>) -> u32 {
        let thread = sample.object.and_then(|id| known.thread_of_object(id.as_usize() as u64));
        let serial = thread.map_or(ThreadSerial(0), |thread| thread.serial);
        *self.by_thread.entry(serial).or_insert_with(|| {
            let key = thread.map_or_else(Default::default, |thread| {
                let name = known.profile.names.get(thread.name).chars();
                (thread.group, name.filter(|c| !c.is_ascii_digit()).collect())
            });
            let next = self.by_name.len() as u32;
            *self.by_name.entry(key).or_insert(next)
        })
    }

    /// Distributes the samples that threads did not take among the traces of their kinds. Those of kinds without a trace
    /// remain.
    pub fn distribute_missed(&mut self) -> Vec<(TraceSerial, u64)> {
        let Self { samples, missed, .. } = self;
        let mut distributed = Vec::new();
        missed.retain(|kind, missed| {
            let Some(samples) = samples.get(kind) else { return true };
            let all: u64 = samples.values().sum();
            let (mut seen, mut given) = (0, 0);
            for (trace, count) in samples {
                seen += count;
                // The sums are rounded, so that nothing is lost.
                let so_far = (u128::from(*missed) * u128::from(seen) / u128::from(all)) as u64;
                distributed.push((*trace, so_far - given));
                given = so_far;
            }
            false
        });
        distributed
    }

    /// Returns the number of samples that threads did not take and that were not distributed, and sets it to 0.
    pub fn take_missed(&mut self) -> u64 {
        self.missed.drain().map(|(_, missed)| missed).sum()
    }
}

/// The states of the sampling.
#[derive(Debug)]
pub enum State {
    /// Not started, or switched off.
    Off,
    /// Sampling, with a buffer for a stack.
    On(CpuSampler, Frames),
    /// The recording is over, or the VM takes no samples.
    Over,
}

impl Cpu {
    /// Begins a recording. The CPU time before it counts if the VM was started with the agent.
    pub fn begin(is_attached: bool) -> Self {
        Self {
            state: State::Off,
            clock: if is_attached { of_process().unwrap_or_default() } else { Duration::ZERO },
            used: Duration::ZERO,
            counted: 0,
            kinds: Kinds::default(),
        }
    }

    /// Ends the recording.
    pub fn end(&mut self) {
        self.state = State::Over;
    }

    /// Stops sampling until the next [`collect`](Self::collect).
    pub fn pause(&mut self) {
        if let State::On(..) = self.state {
            self.state = State::Off;
        }
    }

    /// Returns the intervals that the process has used besides those of all samples, and counts them, too.
    pub fn take_rest(&mut self, interval: Duration) -> u64 {
        let all = self.used.as_nanos() / interval.as_nanos().max(1);
        let rest = u64::try_from(all).unwrap_or(u64::MAX).saturating_sub(self.counted);
        self.counted += rest;
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_of_the_process_without_samples_is_counted_once() {
        let mut cpu = Cpu::begin(true);
        (cpu.used, cpu.counted) = (Duration::from_millis(1_234), 100);
        assert_eq!(cpu.take_rest(Duration::from_millis(10)), 23);
        assert_eq!(cpu.take_rest(Duration::from_millis(10)), 0);
        cpu.counted = 200;
        assert_eq!(cpu.take_rest(Duration::from_millis(10)), 0);
    }

    #[test]
    fn samples_that_were_not_taken_follow_those_of_the_same_kind() {
        let mut kinds = Kinds::default();
        let samples = [(TraceSerial(1), 30), (TraceSerial(2), 10)];
        kinds.samples.insert(0, samples.into_iter().collect());
        kinds.missed.extend([(0, 9), (1, 5)]);
        let distributed: FxHashMap<_, _> = kinds.distribute_missed().into_iter().collect();
        assert_eq!(distributed.values().sum::<u64>(), 9);
        assert!((6..=7).contains(&distributed[&TraceSerial(1)]), "{distributed:?}");
        assert!(kinds.distribute_missed().is_empty());
        assert_eq!((kinds.take_missed(), kinds.take_missed()), (5, 0));
    }
}
