//! Waits for a word in memory to change.

use std::sync::atomic::AtomicU32;
use windows_sys::Win32::Foundation::{ERROR_TIMEOUT, GetLastError, SetLastError};
use windows_sys::Win32::System::Threading::{
    INFINITE, WaitOnAddress, WakeByAddressAll, WakeByAddressSingle,
};

/// Waits until the word is woken, at most `at_most` nanoseconds (None: no limit), which count in whole milliseconds.
/// Returns at once if it does not contain `value`. May wake spuriously. Returns false after a timeout.
pub fn wait(word: &AtomicU32, value: u32, at_most: Option<i64>) -> bool {
    let millis = at_most.map_or(INFINITE, |nanos| {
        (nanos.max(0) as u64).div_ceil(1_000_000).min(u64::from(INFINITE) - 1) as u32
    });
    // SAFETY: the word and the value live until the call returns. Threads have errors of their own.
    unsafe {
        let error = GetLastError();
        let (address, compared) = (word.as_ptr().cast(), (&raw const value).cast());
        let result = WaitOnAddress(address, compared, size_of::<u32>(), millis) != 0;
        let result = result || GetLastError() != ERROR_TIMEOUT;
        SetLastError(error);
        result
    }
}

pub fn wake(word: &AtomicU32) {
    // SAFETY: the system only compares the address.
    unsafe { WakeByAddressAll(word.as_ptr().cast()) };
}

pub fn wake_one(word: &AtomicU32) {
    // SAFETY: as above.
    unsafe { WakeByAddressSingle(word.as_ptr().cast()) };
}
