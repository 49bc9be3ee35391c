//! Java monitors: what threads wait for there, as far as it is being reported.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Counts how often reporting has stopped, after which nobody is known to wait any more.
static ERA: AtomicU32 = AtomicU32::new(0);

/// The VM reports no longer who waits: what was reported so far has no end.
pub fn forget() {
    ERA.fetch_add(1, Ordering::SeqCst);
}

/// What a thread waits for. Only the thread itself uses this.
#[derive(Default)]
pub struct Waits {
    era: AtomicU32,
    /// How many monitors the thread waits to enter: more than one if a handler waits as well.
    entering: AtomicU32,
    /// When it began to wait in `Object.wait`, 0 if it does not.
    since: AtomicU64,
}

impl Waits {
    fn renew(&self) {
        let era = ERA.load(Ordering::SeqCst);
        if self.era.swap(era, Ordering::Relaxed) != era {
            self.entering.store(0, Ordering::Relaxed);
            self.since.store(0, Ordering::Relaxed);
        }
    }

    /// The thread is about to wait for a monitor.
    pub fn enter(&self) {
        self.renew();
        let entering = self.entering.load(Ordering::Relaxed);
        self.entering.store(entering + 1, Ordering::Relaxed);
    }

    /// The thread has got a monitor; false if it is not known to have waited.
    pub fn entered(&self) -> bool {
        self.renew();
        let entering = self.entering.load(Ordering::Relaxed);
        self.entering.store(entering.saturating_sub(1), Ordering::Relaxed);
        entering > 0
    }

    /// The thread begins to wait to be notified.
    pub fn begin(&self) {
        self.renew();
        self.since.store(now(), Ordering::Relaxed);
    }

    /// How long the thread has waited; None if the beginning is not known.
    pub fn end(&self) -> Option<Duration> {
        self.renew();
        let since = self.since.swap(0, Ordering::Relaxed);
        (since > 0).then(|| Duration::from_nanos(now().saturating_sub(since)))
    }
}

/// Nanoseconds since a moment in the past.
fn now() -> u64 {
    static BASE: LazyLock<Instant> = LazyLock::new(Instant::now);
    1 + BASE.elapsed().as_nanos() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_belong_to_beginnings() {
        let waits = Waits::default();
        assert!(!waits.entered() && waits.end().is_none());
        waits.enter();
        waits.enter();
        assert!(waits.entered() && waits.entered() && !waits.entered());
        waits.begin();
        assert!(waits.end().is_some() && waits.end().is_none());

        waits.enter();
        waits.begin();
        forget();
        assert!(!waits.entered() && waits.end().is_none());
    }
}
