//! `monitor=y`: the times that threads have waited to enter monitors, and for locks.

use jvmpi_formats::profile::{Monitor, MonitorTime, MonitorTimes, Time, TraceSerial};
use rustc_hash::FxHashMap;
use std::time::Duration;

/// All waits since the beginning, with the time since the last dump that cleared times.
#[derive(Debug, Default)]
pub struct Waits(FxHashMap<(Monitor, TraceSerial), MonitorTime>);

impl Waits {
    /// Adds a wait of a thread.
    pub fn add(&mut self, monitor: Monitor, trace: TraceSerial, time: Duration) {
        let none = MonitorTime { monitor, trace, hits: 0, time: Duration::ZERO };
        let row = self.0.entry((monitor, trace)).or_insert(none);
        row.hits += 1;
        row.time += time;
    }

    /// Returns the section of a dump. With `clear`, the next section has only later times. The number of hits
    /// is never cleared.
    pub fn section(&mut self, cutoff: f64, clear: bool) -> MonitorTimes {
        let total = self.0.values().map(|row| row.time).sum();
        let rows = self.0.values().copied().collect();
        if clear {
            self.clear_times();
        }
        let mut times = MonitorTimes { at: Some(Time::now()), total, rows };
        times.rank(cutoff as f32);
        times
    }

    /// Resets the times, not the hits.
    pub fn clear_times(&mut self) {
        self.0.values_mut().for_each(|row| row.time = Duration::ZERO);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jvmpi_formats::profile::{NameId, ObjectId};

    #[test]
    fn a_dump_has_the_times_since_the_one_before_and_all_hits() {
        let monitor = |id| Monitor::Java { object: ObjectId(id), class: NameId(1) };
        let (a, b) = (TraceSerial(1), TraceSerial(2));
        let ms = Duration::from_millis;
        let mut waits = Waits::default();
        waits.add(monitor(16), a, ms(5));
        waits.add(monitor(16), b, ms(20));
        waits.add(monitor(16), a, ms(5));
        let rows = |times: MonitorTimes| {
            let row = |row: &MonitorTime| (row.trace, row.hits, row.time);
            (times.total, times.rows.iter().map(row).collect::<Vec<_>>())
        };
        for clear in [false, true] {
            let told = rows(waits.section(0.0, clear));
            assert_eq!(told, (ms(30), vec![(b, 1, ms(20)), (a, 2, ms(10))]));
        }
        waits.add(monitor(16), a, ms(1));
        assert_eq!(rows(waits.section(0.5, true)), (ms(1), vec![(a, 3, ms(1))]));
    }
}
