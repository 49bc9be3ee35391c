//! The order of rows, and which are left out.

use super::{CpuOld, CpuSamples, CpuTimes, MonitorTimes, Sites};

/// Puts the largest rows first, and drops those from the first on that is less than `cutoff` of the total.
fn rank<T>(rows: &mut Vec<T>, total: f64, cutoff: f32, amount: impl Fn(&T) -> f64) {
    rows.sort_by(|a, b| amount(b).total_cmp(&amount(a)));
    let small = |row: &T| total > 0.0 && amount(row) / total < f64::from(cutoff);
    if let Some(first) = rows.iter().position(small) {
        rows.truncate(first);
    }
}

impl Sites {
    /// Puts the largest rows first and drops those with a part of the total below `cutoff`.
    pub fn rank(&mut self, cutoff: f32) {
        self.cutoff = cutoff;
        if self.by_allocation {
            let total = self.allocated.bytes as f64;
            rank(&mut self.rows, total, cutoff, |row| row.allocated.bytes as f64);
        } else {
            rank(&mut self.rows, self.live.bytes as f64, cutoff, |row| row.live.bytes as f64);
        }
    }
}

impl CpuSamples {
    /// Puts the largest rows first and drops those with a part of the total below `cutoff`.
    pub fn rank(&mut self, cutoff: f32) {
        rank(&mut self.rows, self.total as f64, cutoff, |row| row.samples as f64);
    }
}

impl CpuTimes {
    /// Puts the largest rows first and drops those with a part of the total below `cutoff`.
    pub fn rank(&mut self, cutoff: f32) {
        rank(&mut self.rows, self.total.as_secs_f64(), cutoff, |row| row.own.as_secs_f64());
    }
}

impl MonitorTimes {
    /// Puts the largest rows first and drops those with a part of the total below `cutoff`.
    pub fn rank(&mut self, cutoff: f32) {
        rank(&mut self.rows, self.total.as_secs_f64(), cutoff, |row| row.time.as_secs_f64());
    }
}

impl CpuOld {
    /// Puts the most frequent calls first and drops those that have not been made.
    pub fn rank(&mut self) {
        self.rows.retain(|row| row.count > 0);
        self.rows.sort_by_key(|row| std::cmp::Reverse(row.count));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::model::{CpuSample, TraceSerial};

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
