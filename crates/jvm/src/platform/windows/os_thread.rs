//! The numbers of the system's threads.

use std::ffi::OsString;
use std::os::windows::ffi::OsStringExt;
use std::{iter, ptr, slice};
use windows_sys::Win32::Foundation::{CloseHandle, INVALID_HANDLE_VALUE, LocalFree};
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, TH32CS_SNAPTHREAD, THREADENTRY32, Thread32First, Thread32Next,
};
use windows_sys::Win32::System::Threading::{
    GetCurrentProcessId, GetCurrentThreadId, GetThreadDescription, OpenThread,
    THREAD_QUERY_LIMITED_INFORMATION,
};

/// Returns the number of the current thread.
pub fn os_thread() -> i32 {
    ask()
}

/// Returns the number of the current thread, which is in memory of the thread.
pub fn ask() -> i32 {
    // SAFETY: the function has no precondition.
    unsafe { GetCurrentThreadId() as i32 }
}

/// Returns the name of a thread of this process. Empty if there is no such thread, or if it has none.
pub fn name_of(number: i32) -> String {
    // SAFETY: the function takes numbers.
    let thread = unsafe { OpenThread(THREAD_QUERY_LIMITED_INFORMATION, 0, number as u32) };
    if thread.is_null() {
        return String::new();
    }
    let mut text = ptr::null_mut();
    // SAFETY: the handle is that of a thread and is closed once. On success the text is a string that is freed once.
    unsafe {
        let result = GetThreadDescription(thread, &raw mut text);
        CloseHandle(thread);
        if result < 0 || text.is_null() {
            return String::new();
        }
        let length = (0..).take_while(|place| *text.add(*place) != 0).count();
        let name = OsString::from_wide(slice::from_raw_parts(text, length));
        LocalFree(text.cast());
        name.to_string_lossy().into_owned()
    }
}

/// Returns the numbers of all threads of this process.
pub fn all() -> impl Iterator<Item = i32> {
    // SAFETY: the functions get the handle of a snapshot, which is closed once, and a structure with its size.
    let threads: Vec<i32> = unsafe {
        let snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0);
        if snapshot == INVALID_HANDLE_VALUE {
            return Vec::new().into_iter();
        }
        let mut entry: THREADENTRY32 = std::mem::zeroed();
        entry.dwSize = size_of::<THREADENTRY32>() as u32;
        let mut next: unsafe extern "system" fn(_, _) -> _ = Thread32First;
        let entries = iter::from_fn(|| {
            let found = next(snapshot, &raw mut entry) != 0;
            next = Thread32Next;
            found.then_some((entry.th32OwnerProcessID, entry.th32ThreadID as i32))
        });
        let own = GetCurrentProcessId();
        let threads = entries.filter(|(process, _)| *process == own).map(|(_, thread)| thread);
        let threads = threads.collect();
        CloseHandle(snapshot);
        threads
    };
    threads.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn threads_have_numbers_and_names() {
        let named = thread::Builder::new().name("worker".to_owned());
        let seen = named.spawn(|| (ask(), name_of(ask()), all().any(|other| other == ask())));
        let (number, name, is_listed) = seen.unwrap().join().unwrap();
        assert_eq!((name.as_str(), is_listed), ("worker", true));
        assert!(number != ask() && all().any(|other| other == ask()));
        assert_eq!(name_of(0), "");
    }
}
