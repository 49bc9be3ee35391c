//! The order of rows, and which are left out.

use super::{
    CpuOld, CpuSamples, CpuTime, CpuTimes, MonitorTimes, Profile, Section, Sites, ThreadSerial,
    TraceSerial, nanoseconds,
};
use rustc_hash::FxHashSet;
use std::cmp::Reverse;

/// Puts the largest rows first, and drops those from the first on that is less than `cutoff` of the total.
fn rank<T>(rows: &mut Vec<T>, total: u64, cutoff: f32, amount: impl Fn(&T) -> u64) {
    rows.sort_by_key(|row| Reverse(amount(row)));
    let small = |row: &T| total > 0 && amount(row) as f64 / (total as f64) < f64::from(cutoff);
    if let Some(first) = rows.iter().position(small) {
        rows.truncate(first);
    }
}

impl Sites {
    /// Puts the largest rows first and drops those with a part of the total below `cutoff`.
    pub fn rank(&mut self, cutoff: f32) {
        self.cutoff = cutoff;
        if self.by_allocation {
            rank(&mut self.rows, self.allocated.bytes, cutoff, |row| row.allocated.bytes);
        } else {
            rank(&mut self.rows, self.live.bytes, cutoff, |row| row.live.bytes);
        }
    }
}

impl CpuSamples {
    /// Puts the largest rows first and drops those with a part of the total below `cutoff`.
    pub fn rank(&mut self, cutoff: f32) {
        rank(&mut self.rows, self.total, cutoff, |row| row.samples);
    }
}

impl CpuTimes {
    /// Puts the largest rows first and drops those with a part of the total below `cutoff`.
    pub fn rank(&mut self, cutoff: f32) {
        rank(&mut self.rows, nanoseconds(self.total), cutoff, |row| nanoseconds(row.own));
    }
}

impl MonitorTimes {
    /// Puts the largest rows first and drops those with a part of the total below `cutoff`.
    pub fn rank(&mut self, cutoff: f32) {
        rank(&mut self.rows, nanoseconds(self.total), cutoff, |row| nanoseconds(row.time));
    }
}

impl CpuOld {
    /// Puts the most frequent calls first and drops those that have not been made.
    pub fn rank(&mut self) {
        self.rows.retain(|row| row.count > 0);
        self.rows.sort_by_key(|row| Reverse(row.count));
    }
}

impl Profile {
    /// Replaces the rows of CPU times with a part of the total below `cutoff` by one row, and removes their traces. The
    /// frame of that row names their number.
    pub fn join_small_times(&mut self, cutoff: f32) {
        let mut removed = FxHashSet::default();
        let mut sections = std::mem::take(&mut self.sections);
        for section in &mut sections {
            let Section::CpuTimes(times) = section else { continue };
            let all = times.rows.len();
            let mut small = times.rows.clone();
            times.rank(cutoff);
            if all - times.rows.len() < 2 {
                continue;
            }
            let kept: FxHashSet<_> = times.rows.iter().map(|row| row.trace).collect();
            small.retain(|row| !kept.contains(&row.trace));
            let trace = self.trace_of_small(small.len(), cutoff);
            let own = small.iter().map(|row| row.own).sum();
            let calls = small.iter().fold(0, |sum: u64, row| sum.saturating_add(row.calls));
            times.rows.push(CpuTime { trace, own, calls });
            removed.extend(small.iter().map(|row| row.trace));
        }
        sections.iter().flat_map(Section::traces).for_each(|trace| {
            removed.remove(&trace);
        });
        self.sections = sections;
        self.traces.retain(|trace| !removed.contains(&trace));
    }

    fn trace_of_small(&mut self, number: usize, cutoff: f32) -> TraceSerial {
        let name = format!("[{number} stacks below 1/{}]", (1.0 / cutoff).round());
        let frame = self.made_frame("", &name);
        self.traces.intern(ThreadSerial(0), &[frame])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::model::{CpuSample, Frame, Line};
    use std::time::Duration;

    #[test]
    fn small_times_become_one_row_and_lose_their_traces() {
        let mut profile = Profile::default();
        let traces: Vec<_> = (0..100)
            .map(|n| {
                let method = profile.intern_method(["A", &n.to_string(), "", ""]);
                let frame = profile.frames.intern(Frame { method, line: Line::Unknown });
                profile.traces.intern(ThreadSerial(1), &[frame])
            })
            .collect();
        let time = |n: usize, nanos| CpuTime {
            trace: traces[n],
            own: Duration::from_nanos(nanos),
            calls: 2,
        };
        let rows: Vec<_> = (0..100).map(|n| time(n, if n == 7 { 9_901 } else { 1 })).collect();
        let total = Duration::from_nanos(10_000);
        let samples = vec![CpuSample::new(traces[9], 1)];
        profile.sections = vec![
            CpuTimes { total, rows, ..CpuTimes::default() }.into(),
            CpuSamples { total: 1, rows: samples, ..CpuSamples::default() }.into(),
        ];
        let mut unchanged = profile.clone();
        unchanged.join_small_times(0.0001);
        assert_eq!((unchanged.sections[0].traces().len(), unchanged.traces.len()), (100, 100));
        profile.join_small_times(0.001);
        let [Section::CpuTimes(times), _] = &profile.sections[..] else { panic!() };
        let small = times.rows[1].trace;
        let own = Duration::from_nanos(99);
        assert_eq!(times.rows, [time(7, 9_901), CpuTime { trace: small, own, calls: 198 }]);
        let frame = profile.traces.frames_of(small).first().unwrap();
        let method = profile.frame(frame).unwrap().1;
        assert_eq!(profile.qualified(method), "[99 stacks below 1/1000]");
        let left: Vec<_> = profile.traces.iter().map(|trace| trace.serial).collect();
        assert_eq!(left, [traces[7], traces[9], small]);
        assert_eq!(profile.traces.get(traces[9]).unwrap().thread, ThreadSerial(1));
        assert_eq!(profile.traces.get(traces[8]), None);
    }

    #[test]
    fn rows_below_the_cutoff_are_dropped() {
        let row = |trace, samples| CpuSample { trace: TraceSerial(trace), samples, hits: 9 };
        let rows = vec![row(1, 5), row(2, 80), row(3, 0), row(4, 15)];
        let mut samples = CpuSamples { total: 100, rows, ..CpuSamples::default() };
        samples.rank(0.0);
        assert_eq!(samples.rows, [row(2, 80), row(4, 15), row(1, 5), row(3, 0)]);
        samples.rank(0.06);
        assert_eq!(samples.rows, [row(2, 80), row(4, 15)]);
        samples.total = 0;
        samples.rank(1.0);
        assert_eq!(samples.rows.len(), 2);
    }
}
