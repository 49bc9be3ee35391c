//! Waits for a word in memory to change.

use std::ptr;
use std::sync::atomic::AtomicU32;

/// Waits until the word is woken, at most `at_most` nanoseconds (None: no limit). Returns at once
/// if it does not contain `value`. May wake spuriously. Returns false after a timeout.
pub fn wait(word: &AtomicU32, value: u32, at_most: Option<i64>) -> bool {
    let time = at_most.map(|nanos| libc::timespec {
        tv_sec: (nanos.max(0) / 1_000_000_000) as _,
        tv_nsec: (nanos.max(0) % 1_000_000_000) as libc::c_long,
    });
    let time = time.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: the word and the time live until the call returns.
    let result = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), WAIT, value, time) };
    // SAFETY: each thread has its own errno.
    result == 0 || unsafe { *libc::__errno_location() } != libc::ETIMEDOUT
}

/// Wakes all threads that wait for the word.
pub fn wake(word: &AtomicU32) {
    wake_at_most(word, i32::MAX);
}

/// Wakes one of the threads that wait for the word.
pub fn wake_one(word: &AtomicU32) {
    wake_at_most(word, 1);
}

fn wake_at_most(word: &AtomicU32, count: i32) {
    // SAFETY: the kernel only compares the address.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), WAKE, count) };
}

const WAIT: i32 = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
const WAKE: i32 = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
