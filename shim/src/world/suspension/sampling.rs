//! Whether an agent that suspends threads is a sampler, which takes a stack and resumes at once, or
//! wants them suspended for longer.
//!
//! A signal stops a thread in no time, but JVMTI has to take over if it is not resumed soon, and
//! meanwhile the thread executes a few instructions. A thread that JVMTI suspends executes none, for
//! however long. So signals are for samplers, which are known by their earlier suspensions.

use super::futex;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

/// A suspension is brief if it takes fewer nanoseconds. On a busy machine even a sampler has to
/// wait for a processor now and then while it has threads suspended.
const BRIEF: i64 = 50_000_000;
/// How many suspensions have to be brief after one that was not, and in the beginning.
const PROBATION: u32 = 4;

/// How many suspensions still have to be brief, of all threads together.
static OWED: AtomicU32 = AtomicU32::new(PROBATION);

/// The suspensions of one thread. Changed only under the claims to suspend and to resume.
#[derive(Default)]
pub struct History {
    /// When the last one began, by [`futex::now`].
    begun: AtomicI64,
    /// How many still have to be brief.
    owed: AtomicU32,
}

impl History {
    /// Called before the thread is suspended.
    pub fn begin(&self) {
        self.begun.store(futex::now(), Ordering::Relaxed);
    }

    /// Called when it is resumed.
    pub fn end(&self) {
        self.took(futex::now() - self.begun.load(Ordering::Relaxed), &OWED);
    }

    /// A suspension took so many nanoseconds.
    fn took(&self, time: i64, owed_by_all: &AtomicU32) {
        for owed in [&self.owed, owed_by_all] {
            let still = owed.load(Ordering::Relaxed).saturating_sub(1);
            owed.store(if time < BRIEF { still } else { PROBATION }, Ordering::Relaxed);
        }
    }

    /// Whether the thread seems to be suspended by a sampler.
    pub fn is_sampled(&self) -> bool {
        self.owes_none(&OWED)
    }

    fn owes_none(&self, owed_by_all: &AtomicU32) -> bool {
        [&self.owed, owed_by_all].iter().all(|owed| owed.load(Ordering::Relaxed) == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_brief_suspensions_make_a_sampler_and_a_long_one_makes_none() {
        let all = AtomicU32::new(PROBATION);
        let (one, other) = (History::default(), History::default());
        assert!(!one.owes_none(&all), "no thread has been suspended yet");
        (0..PROBATION).for_each(|_| one.took(BRIEF - 1, &all));
        assert!(one.owes_none(&all) && other.owes_none(&all));

        one.took(BRIEF, &all);
        assert!(!one.owes_none(&all) && !other.owes_none(&all));
        (0..PROBATION).for_each(|_| other.took(0, &all));
        assert!(other.owes_none(&all));
        assert!(
            !one.owes_none(&all),
            "the thread that was suspended for long owes brief ones itself"
        );
    }
}
