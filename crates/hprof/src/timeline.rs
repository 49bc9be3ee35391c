//! The samples over time: the number of samples of each trace in each second of a recording.

use jvmpi_formats::profile::{self, BucketSamples, TraceSerial};
use rustc_hash::FxHashMap;
use std::time::{Duration, Instant};

/// The maximum number of buckets. Then a bucket becomes twice as long.
const BUCKETS: u32 = 512;

/// The maximum number of counts, of 16 bytes each, unless there are as many traces. Then a bucket becomes twice as
/// long, too.
const COUNTS: usize = 100_000;

/// The samples of each trace over time. Only traces that were found in a bucket take memory there.
#[derive(Debug)]
pub struct Timeline {
    start: Instant,
    /// The duration of a bucket in seconds.
    bucket: u32,
    counts: FxHashMap<(TraceSerial, u32), u64>,
}

impl Timeline {
    /// Begins now.
    pub fn new() -> Self {
        Self { start: Instant::now(), bucket: 1, counts: FxHashMap::default() }
    }

    /// Counts samples of a trace that are taken now.
    pub fn add(&mut self, trace: TraceSerial, samples: u64) {
        self.add_at(self.start.elapsed(), trace, samples);
    }

    fn add_at(&mut self, time: Duration, trace: TraceSerial, samples: u64) {
        let second = u32::try_from(time.as_secs()).unwrap_or(u32::MAX);
        while second / self.bucket >= BUCKETS {
            self.coarsen();
        }
        *self.counts.entry((trace, second / self.bucket)).or_default() += samples;
        // In the first bucket, no trace has a second count.
        while self.counts.len() > COUNTS && second / self.bucket > 0 {
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
        profile::Timeline { bucket: Duration::from_secs(self.bucket.into()), rows }
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
    fn buckets_get_longer_in_a_long_recording() {
        let mut timeline = Timeline::new();
        for second in 0..2_000 {
            timeline.add_at(Duration::from_secs(second), TraceSerial(1), 2);
        }
        let section = timeline.section();
        assert_eq!((section.bucket, section.rows.len()), (Duration::from_secs(4), 500));
        assert!(section.rows.iter().all(|row| row.samples == 8));
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
