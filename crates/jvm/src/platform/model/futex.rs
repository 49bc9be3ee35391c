//! Waiting for a word in memory to change.

use super::atomic::{AtomicU32, Ordering};
use super::machine;
use std::cell::RefCell;
use std::time::Duration;

thread_local! {
    /// The threads that wait, with the addresses of their words.
    static WAITING: RefCell<Vec<(usize, i32)>> = const { RefCell::new(Vec::new()) };
}

fn address(word: &AtomicU32) -> usize {
    (&raw const *word).addr()
}

/// Waits until the word is woken, at most so many nanoseconds (None: no limit); returns at once if it does not hold
/// `value`. False if the time was over.
pub fn wait(word: &AtomicU32, value: u32, at_most: Option<i64>) -> bool {
    machine::commit_all();
    // The kernel compares and begins the wait in one step.
    if word.load(Ordering::SeqCst) != value {
        return true;
    }
    let me = (address(word), machine::number());
    WAITING.with_borrow_mut(|waiting| waiting.push(me));
    machine::fall_asleep(at_most.map(|nanos| Duration::from_nanos(nanos.max(0) as u64)));
    let is_woken = machine::sleep();
    WAITING.with_borrow_mut(|waiting| waiting.retain(|other| *other != me));
    is_woken
}

/// Wakes all that wait for the word.
pub fn wake(word: &AtomicU32) {
    wake_at_most(word, usize::MAX);
}

/// Wakes one of those that wait for the word.
pub fn wake_one(word: &AtomicU32) {
    wake_at_most(word, 1);
}

fn wake_at_most(word: &AtomicU32, count: usize) {
    machine::commit_all();
    machine::step();
    let address = address(word);
    for _ in 0..count {
        let next = WAITING.with_borrow_mut(|waiting| {
            let next = waiting.iter().position(|(place, _)| *place == address)?;
            Some(waiting.remove(next).1)
        });
        let Some(next) = next else { return };
        machine::wake(next);
    }
}
