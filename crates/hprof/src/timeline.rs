//! The samples over time: the number of samples of each trace in each 20 ms of a recording.

use jvmpi_formats::profile::{self, BucketSamples, TraceSerial};
use rustc_hash::FxHashMap;
use std::time::{Duration, Instant};

/// The duration of a bucket at first, in milliseconds.
const SHORTEST: u32 = 20;

/// The maximum number of buckets. Then a bucket becomes twice as long.
const BUCKETS: u32 = 1 << 15;

/// The maximum number of counts, of 16 bytes each, unless there are as many traces. Then a bucket becomes twice as
/// long, too.
const COUNTS: usize = 100_000;

/// The samples of each trace over time. Only traces that were found in a bucket take memory there.
#[derive(Debug)]
pub struct Timeline {
    start: Instant,
    /// The duration of a bucket in milliseconds.
    bucket: u32,
    counts: FxHashMap<(TraceSerial, u32), u64>,
}

impl Timeline {
    /// Begins now.
    pub fn new() -> Self {
        Self { start: Instant::now(), bucket: SHORTEST, counts: FxHashMap::default() }
    }

    /// Counts samples of a trace that are taken now.
    pub fn add(&mut self, trace: TraceSerial, samples: u64) {
        self.add_at(self.start.elapsed(), trace, samples);
    }

    /// Counts samples that threads did not take when they were due, with the last ones of the same trace.
    pub fn add_late(&mut self, late: &[(TraceSerial, u64)]) {
        let mut last: FxHashMap<TraceSerial, u32> = FxHashMap::default();
        for (trace, bucket) in self.counts.keys() {
            let known = last.entry(*trace).or_insert(*bucket);
            *known = (*known).max(*bucket);
        }
        for (trace, samples) in late.iter().filter(|(_, samples)| *samples > 0) {
            match last.get(trace) {
                Some(bucket) => *self.counts.entry((*trace, *bucket)).or_default() += samples,
                None => self.add(*trace, *samples),
            }
        }
    }

    fn add_at(&mut self, time: Duration, trace: TraceSerial, samples: u64) {
        let time = u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
        while time / self.bucket >= BUCKETS {
            self.coarsen();
        }
        *self.counts.entry((trace, time / self.bucket)).or_default() += samples;
        // In the first bucket, no trace has a second count.
        while self.counts.len() > COUNTS && time / self.bucket > 0 {
            self.coarsen();
        }
    }

    fn coarsen(&mut self) {
        self.bucket = self.bucket.saturating_mul(2);
        for ((trace, bucket), samples) in std::mem::take(&mut self.counts) {
            *self.counts.entry((trace, bucket / 2)).or_default() += samples;
        }
    }

    /// Returns the counts, in the order of time.
    pub fn section(&self) -> profile::Timeline {
        let row = |(&(trace, bucket), &samples): (&_, &_)| BucketSamples { bucket, trace, samples };
        let mut rows: Vec<_> = self.counts.iter().map(row).collect();
        rows.sort_unstable_by_key(|row| (row.bucket, row.trace));
        profile::Timeline { bucket: Duration::from_millis(self.bucket.into()), rows }
    }

    /// Restarts all counts at zero. Time continues.
    pub fn clear(&mut self) {
        self.counts = FxHashMap::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_samples_join_the_last_ones_of_their_trace() {
        let mut timeline = Timeline::new();
        for (second, trace) in [(0, 1), (3, 1), (5, 2)] {
            timeline.add_at(Duration::from_secs(second), TraceSerial(trace), 1);
        }
        timeline.add_late(&[(TraceSerial(1), 4), (TraceSerial(2), 0), (TraceSerial(3), 2)]);
        let rows = timeline.section().rows;
        let rows: Vec<_> = rows.iter().map(|row| (row.bucket, row.trace.0, row.samples)).collect();
        assert_eq!(rows, [(0, 1, 1), (0, 3, 2), (150, 1, 5), (250, 2, 1)]);
    }

    #[test]
    fn buckets_get_longer_in_a_long_recording() {
        let mut timeline = Timeline::new();
        for time in 0..50_000 {
            timeline.add_at(Duration::from_millis(20 * time), TraceSerial(1), 2);
        }
        let section = timeline.section();
        assert_eq!((section.bucket, section.rows.len()), (Duration::from_millis(40), 25_000));
        assert!(section.rows.iter().all(|row| row.samples == 4));
    }

    #[test]
    fn number_of_counts_is_bounded() {
        let mut timeline = Timeline::new();
        let mut most = 0;
        for second in 0..500 {
            for trace in 0..1_000 {
                timeline.add_at(Duration::from_secs(second), TraceSerial(trace), 1);
                most = most.max(timeline.counts.len());
            }
        }
        assert_eq!(most, COUNTS);
        let sum: u64 = timeline.section().rows.iter().map(|row| row.samples).sum();
        assert_eq!(sum, 500_000);
    }
}
