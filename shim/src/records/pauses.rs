//! The pauses of collectors: the time that they take, and the moves of objects in them.

use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::time::{Duration, Instant};

/// Pauses of collectors that are reported together.
#[derive(Clone, Copy, Default, Debug, PartialEq)]
pub struct Pauses {
    /// The sum of their durations.
    pub took: Duration,
    /// The end of the last one, None if there was none.
    pub until: Option<Instant>,
    /// The beginning of the pause in progress.
    since: Option<Instant>,
}

impl Pauses {
    pub const NONE: Self = Self { took: Duration::ZERO, until: None, since: None };

    pub fn begin(&mut self, now: Instant) {
        self.since = Some(now);
    }

    /// Records that a pause ends. A pause whose beginning was not seen does not count.
    pub fn end(&mut self, now: Instant) {
        if let Some(since) = self.since.take() {
            self.took += now.saturating_duration_since(since);
            self.until = Some(now);
        }
    }

    /// Takes the pauses that have ended.
    pub fn take(&mut self) -> Self {
        let rest = Self { since: self.since.take(), ..Self::NONE };
        std::mem::replace(self, rest)
    }

    /// Adds earlier pauses again that [`Self::take`] has taken.
    pub fn give_back(&mut self, earlier: Self) {
        self.took += earlier.took;
        self.until = self.until.or(earlier.until);
    }
}

/// The beginnings of pauses, and below their ends, to detect that objects may have moved.
///
/// An address that is read between two collections stays the object's address until the next one begins. JVMTI reports
/// both ends while all threads are stopped. But a thread in native code keeps running, so code that reads an address must
/// check before and after.
///
/// Starts at 1: a collection counts as running until [`moves_only_in_pauses`] is called.
static BEGUN: AtomicU64 = AtomicU64::new(1);
static ENDED: AtomicU64 = AtomicU64::new(0);

/// Declares that the collector moves objects only in pauses, all of them reported by JVMTI. Called once.
pub fn moves_only_in_pauses() {
    end();
}

/// Records that a pause begins. All threads are stopped.
pub fn begin() {
    BEGUN.fetch_add(1, Ordering::SeqCst);
    // No processor sees an object moved from here on before it sees the new count.
    fence(Ordering::Release);
}

/// Records that a pause ends. All threads are still stopped.
pub fn end() {
    ENDED.fetch_add(1, Ordering::SeqCst);
}

/// Returns the number of the current interval between two collections; None while objects may be moving.
#[inline]
pub fn between() -> Option<u64> {
    // In this order: every pause that is counted as ended is then also counted as begun.
    let ended = ENDED.load(Ordering::Acquire);
    (BEGUN.load(Ordering::Acquire) == ended).then_some(ended)
}

/// Returns true if no pause has begun since [`between`] returned `time`. Called after the data was read.
#[inline]
pub fn is_still(time: u64) -> bool {
    fence(Ordering::Acquire);
    BEGUN.load(Ordering::Relaxed) == time
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_lasts_over_a_collection() {
        assert_eq!(between(), None);
        moves_only_in_pauses();
        let time = between().unwrap();
        assert!(is_still(time));
        // A collection inside another one.
        [begin, begin, end].iter().for_each(|step| step());
        assert!(between().is_none() && !is_still(time));
        end();
        assert!(between().is_some_and(|now| now != time) && !is_still(time));
    }
}
