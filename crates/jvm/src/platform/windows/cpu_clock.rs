//! The CPU time of threads, and of the process. Windows counts it in steps of a clock tick, up to 15.6 ms.

use std::time::Duration;
use windows_sys::Win32::Foundation::{CloseHandle, FILETIME, HANDLE};
use windows_sys::Win32::System::Threading::{
    GetCurrentProcess, GetCurrentThread, GetProcessTimes, GetThreadTimes, OpenThread,
    THREAD_QUERY_LIMITED_INFORMATION,
};

/// A function that returns the times of creation and exit, and those in the kernel and in the program.
type Times = unsafe extern "system" fn(
    HANDLE,
    *mut FILETIME,
    *mut FILETIME,
    *mut FILETIME,
    *mut FILETIME,
) -> i32;

/// Returns the CPU time of the current thread in nanoseconds.
pub fn current() -> i64 {
    // SAFETY: the function only returns a constant.
    let thread = unsafe { GetCurrentThread() };
    // SAFETY: the handle is that of a thread.
    unsafe { read(GetThreadTimes, thread) }.unwrap_or(0)
}

/// Returns the CPU time of a thread of this process in nanoseconds. None if no thread with this number runs.
pub fn of(os_thread: i32) -> Option<i64> {
    // SAFETY: the function takes numbers.
    let thread = unsafe { OpenThread(THREAD_QUERY_LIMITED_INFORMATION, 0, os_thread as u32) };
    if thread.is_null() {
        return None;
    }
    // SAFETY: the handle is that of a thread, and is closed once.
    unsafe {
        let time = read(GetThreadTimes, thread);
        CloseHandle(thread);
        time
    }
}

pub fn of_process() -> Option<Duration> {
    // SAFETY: the handle is that of this process.
    let nanos = unsafe { read(GetProcessTimes, GetCurrentProcess()) };
    nanos.map(|nanos| Duration::from_nanos(nanos as u64))
}

/// Returns the CPU time in nanoseconds. None after the exit.
///
/// # Safety
/// The handle is one of those that the function takes.
unsafe fn read(times: Times, handle: HANDLE) -> Option<i64> {
    let mut parts = [FILETIME { dwLowDateTime: 0, dwHighDateTime: 0 }; 4];
    let [created, exited, kernel, user] = &mut parts;
    // SAFETY: as the caller promises; the structures are local variables.
    let is_known = unsafe { times(handle, created, exited, kernel, user) } != 0;
    let [_, exited, kernel, user] =
        parts.map(|part| i64::from(part.dwHighDateTime) << 32 | i64::from(part.dwLowDateTime));
    (is_known && exited == 0).then_some((kernel + user) * 100)
}
