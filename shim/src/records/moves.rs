//! Counts the beginnings and ends of collections, to detect that objects may have moved.
//!
//! An address that is read between two collections stays the object's address until the next one begins.
//! JVMTI reports both ends while all threads are stopped. But a thread in native code keeps running, so
//! code that reads an address must check before and after.

use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Starts at 1: a collection counts as running until [`only_in_pauses`] is called.
static BEGUN: AtomicU64 = AtomicU64::new(1);
static ENDED: AtomicU64 = AtomicU64::new(0);

/// Declares that the collector moves objects only in pauses, all of them reported by JVMTI. Called once.
pub fn only_in_pauses() {
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
        only_in_pauses();
        let time = between().unwrap();
        assert!(is_still(time));
        // A collection inside another one.
        [begin, begin, end].iter().for_each(|step| step());
        assert!(between().is_none() && !is_still(time));
        end();
        assert!(between().is_some_and(|now| now != time) && !is_still(time));
    }
}
