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
        let is_brief = futex::now() - self.begun.load(Ordering::Relaxed) < BRIEF;
        for owed in [&self.owed, &OWED] {
            let still = owed.load(Ordering::Relaxed).saturating_sub(1);
            owed.store(if is_brief { still } else { PROBATION }, Ordering::Relaxed);
        }
    }

    /// Whether the thread seems to be suspended by a sampler.
    pub fn is_sampled(&self) -> bool {
        [&self.owed, &OWED].iter().all(|owed| owed.load(Ordering::Relaxed) == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::sleep;
    use std::time::Duration;

    fn suspend(thread: &History, millis: u64) {
        thread.begin();
        sleep(Duration::from_millis(millis));
        thread.end();
    }

    #[test]
    fn a_few_brief_suspensions_make_a_sampler_and_a_long_one_makes_none() {
        let (one, other) = (History::default(), History::default());
        assert!(!one.is_sampled(), "no thread has been suspended yet");
        (0..PROBATION).for_each(|_| suspend(&one, 0));
        assert!(one.is_sampled() && other.is_sampled());

        suspend(&one, 60);
        assert!(!one.is_sampled() && !other.is_sampled());
        (0..PROBATION).for_each(|_| suspend(&other, 0));
        assert!(other.is_sampled());
        assert!(!one.is_sampled(), "the thread that was suspended for long owes brief ones itself");
    }
}
