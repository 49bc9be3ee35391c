//! Whether objects may have moved: how often the collector has begun to move them, and ended.
//!
//! An address that is read between two collections is that of its object until the next one begins. JVMTI
//! tells of both ends while all threads are stopped. A thread in native code runs on meanwhile, so that one
//! that reads an address must look before and after.

use std::sync::atomic::{AtomicU64, Ordering, fence};

/// As long as it is not known that the collector moves objects only in its pauses, one is always under way.
static BEGUN: AtomicU64 = AtomicU64::new(1);
static ENDED: AtomicU64 = AtomicU64::new(0);

/// The collector moves objects in pauses only, and JVMTI tells of all of them. To be called once.
pub fn only_in_pauses() {
    end();
}

/// A pause begins. All threads are stopped.
pub fn begin() {
    BEGUN.fetch_add(1, Ordering::SeqCst);
    // What is moved from here on is not seen before that, by no processor.
    fence(Ordering::Release);
}

/// A pause ends. All threads are still stopped.
pub fn end() {
    ENDED.fetch_add(1, Ordering::SeqCst);
}

/// Which of the times between two collections it is; None while objects may be moving.
#[inline]
pub fn between() -> Option<u64> {
    // In this order: who has ended had begun.
    let ended = ENDED.load(Ordering::Acquire);
    (BEGUN.load(Ordering::Acquire) == ended).then_some(ended)
}

/// Whether it is still that time, after something was read.
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
        // A collection in another one.
        [begin, begin, end].iter().for_each(|step| step());
        assert!(between().is_none() && !is_still(time));
        end();
        assert!(between().is_some_and(|now| now != time) && !is_still(time));
    }
}
