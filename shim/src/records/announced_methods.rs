//! The methods whose events may take the short cut: their classes are announced to all agents that have enabled CLASS_LOAD.

use jni_sys::{_jmethodID, jmethodID};
use jvm::lock::Lock;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The methods with the numbers from here on are not reported.
pub const NUMBERS: usize = 1 << 22;

/// By number: the method if its class is announced to all agents that have enabled CLASS_LOAD, else NULL. The unused
/// part of the table takes only addresses.
static ANNOUNCED: [AtomicPtr<_jmethodID>; NUMBERS] =
    [const { AtomicPtr::new(ptr::null_mut()) }; NUMBERS];

/// The number of places of [`ANNOUNCED`] that have been used. Locked while one becomes a method.
static USED: Lock<usize> = Lock::new(0);

/// Returns the method with this number, if its events may take the short cut in the epoch that the caller has read.
#[inline]
pub fn get(number: usize) -> Option<jmethodID> {
    let method = ANNOUNCED.get(number)?.load(Ordering::Acquire);
    (!method.is_null()).then_some(method)
}

/// Lets the events of a method take the short cut, if its class is announced to all agents that have enabled CLASS_LOAD.
pub fn add(number: usize, method: jmethodID, is_announced: impl FnOnce() -> bool) {
    let Some(place) = ANNOUNCED.get(number) else { return };
    let mut used = USED.lock();
    // An agent that enables CLASS_LOAD later waits for the lock.
    if is_announced() {
        *used = (number + 1).max(*used);
        // Release: a thread that sees the method sees what the agents have done with its class.
        place.store(method, Ordering::Release);
    }
}

/// Makes the events of the method with this number take the long way.
pub fn remove(number: usize) {
    if let Some(place) = ANNOUNCED.get(number) {
        place.store(ptr::null_mut(), Ordering::Relaxed);
    }
}

/// Makes the events of all methods take the long way. The caller ends the epoch afterwards.
pub fn clear() {
    let used = USED.lock();
    ANNOUNCED[..*used].iter().for_each(|place| place.store(ptr::null_mut(), Ordering::Relaxed));
}
