//! The CPU time of the current thread at every call and return.
//!
//! A system call for the time takes several times as long as the measured calls. So the time is requested
//! only if the last event of the thread is more than [`LIMIT`] ago. Otherwise the thread has run with no
//! pause or a negligible one, and the processor's counter measures the time. A collection, a wait or
//! another thread's turn takes longer, so none of them counts.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The maximum distance of two events between which the thread is assumed to have run all the time.
const LIMIT: Duration = Duration::from_micros(10);

/// A thread's clock, which never runs backward.
#[derive(Debug, Default)]
pub struct CpuClock {
    time: u64,
    ticks: u64,
}

impl CpuClock {
    /// Returns the thread's CPU time in nanoseconds. `ask` requests it from the system.
    #[inline]
    pub fn now(&mut self, ask: impl FnOnce() -> u64) -> u64 {
        self.at(ticks(), scale(), || (ask(), ticks()))
    }

    /// `ask` returns the counter too: a system that takes longer than the limit to answer would be asked at every event.
    #[inline]
    fn at(&mut self, ticks: u64, scale: Scale, ask: impl FnOnce() -> (u64, u64)) -> u64 {
        // A counter that differs between processors may run backward. The difference then wraps to a long
        // time.
        let passed = ticks.wrapping_sub(self.ticks);
        if passed <= scale.limit {
            self.ticks = ticks;
            self.time += (passed * scale.nanos) >> SHIFT;
        } else {
            let (time, answered) = ask();
            self.ticks = answered;
            // This compensates for time that was overcounted before.
            self.time = self.time.max(time);
        }
        self.time
    }
}

/// The duration of a tick of the processor's counter.
#[derive(Clone, Copy, Debug)]
struct Scale {
    /// Nanoseconds, times 2^[`SHIFT`].
    nanos: u64,
    /// [`LIMIT`] in ticks.
    limit: u64,
}

const SHIFT: u32 = 20;

fn scale() -> Scale {
    static SCALE: OnceLock<Scale> = OnceLock::new();
    *SCALE.get_or_init(measure)
}

/// Compares the counter with the system's clock. The error, about a thousandth, affects only spans shorter
/// than [`LIMIT`].
fn measure() -> Scale {
    let (start, first) = both();
    while start.elapsed() < Duration::from_micros(200) {}
    let (end, last) = both();
    let nanos = end.duration_since(start).as_nanos().max(1);
    let passed = u128::from(last.wrapping_sub(first).max(1));
    let limit = LIMIT.as_nanos() * passed / nanos;
    let per_tick = (nanos << SHIFT) / passed;
    Scale {
        nanos: u64::try_from(per_tick).unwrap_or(0),
        // With an unusable counter, every time is requested from the system.
        limit: if per_tick == 0 { 0 } else { u64::try_from(limit).unwrap_or(0) },
    }
}

/// Reads the system's clock and the counter at the same moment. The thread may lose the processor between
/// the two, so the reading with the least counter progress is returned.
fn both() -> (Instant, u64) {
    let reading = || {
        let before = ticks();
        let now = Instant::now();
        (ticks().wrapping_sub(before), now, before)
    };
    let others = (0..8).map(|_| reading());
    let (_, now, ticks) =
        others.fold(reading(), |best, next| if next.0 < best.0 { next } else { best });
    (now, ticks)
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has the instruction, and Linux lets programs use it.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn ticks() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let passed = START.get_or_init(Instant::now).elapsed();
    u64::try_from(passed.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two ticks to a nanosecond.
    const HALF: Scale = Scale { nanos: 1 << (SHIFT - 1), limit: 20_000 };

    #[test]
    fn short_spans_are_counted_and_long_ones_asked_for() {
        let mut clock = CpuClock::default();
        let never = || -> (u64, u64) { panic!("asked") };
        assert_eq!(clock.at(1_000_000, HALF, || (70, 1_000_000)), 70);
        assert_eq!(clock.at(1_000_100, HALF, never), 120);
        assert_eq!(clock.at(1_020_100, HALF, never), 10_120);
        assert_eq!(clock.at(1_040_101, HALF, || (10_500, 1_040_101)), 10_500);
        assert_eq!(clock.at(1_040_000, HALF, || (10_510, 1_040_000)), 10_510, "backwards");
    }

    #[test]
    fn slow_answer_is_not_followed_by_another_request() {
        let mut clock = CpuClock::default();
        assert_eq!(clock.at(1_000_000, HALF, || (70, 1_090_000)), 70);
        assert_eq!(clock.at(1_090_100, HALF, || panic!("asked")), 120);
    }

    #[test]
    fn overestimated_time_is_subtracted_later() {
        let mut clock = CpuClock::default();
        clock.at(1_000_000, HALF, || (0, 1_000_000));
        assert_eq!(clock.at(1_010_000, HALF, || (0, 1_010_000)), 5_000);
        assert_eq!(clock.at(2_000_000, HALF, || (1_000, 2_000_000)), 5_000);
        assert_eq!(clock.at(3_000_000, HALF, || (6_000, 3_000_000)), 6_000);
    }

    #[test]
    fn ticks_are_turned_into_nanoseconds() {
        let scale = measure();
        let (start, first) = both();
        while start.elapsed() < Duration::from_millis(5) {}
        let (end, last) = both();
        let by_ticks = (last.wrapping_sub(first) * scale.nanos) >> SHIFT;
        let nanos = end.duration_since(start).as_nanos() as f64;
        assert!((by_ticks as f64 / nanos - 1.0).abs() < 0.2, "{by_ticks} {nanos}");
    }
}
