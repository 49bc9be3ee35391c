//! The kernel's thread IDs.

use std::cell::Cell;
use std::fs;

thread_local! {
    static OS_THREAD: Cell<i32> = const { Cell::new(0) };
}

/// Returns the kernel's ID of the current thread.
pub fn os_thread() -> i32 {
    OS_THREAD
        .try_with(|cell| {
            if cell.get() == 0 {
                cell.set(ask());
            }
            cell.get()
        })
        .unwrap_or_else(|_| ask())
}

/// Asks the kernel for its ID of the current thread. May be called in a signal handler on any thread, where
/// thread-local storage may not be allocated yet.
pub fn ask() -> i32 {
    // The C library has `libc::gettid` only since 2.30.
    // SAFETY: gettid has no preconditions.
    unsafe { libc::syscall(libc::SYS_gettid) as i32 }
}

/// Returns the name of a thread of this process, which has at most 15 bytes. Empty if there is no such thread.
pub fn name_of(number: i32) -> String {
    let name = fs::read_to_string(format!("/proc/self/task/{number}/comm")).unwrap_or_default();
    name.trim_end().to_owned()
}

/// Returns the kernel's IDs of all threads of this process.
pub fn all() -> impl Iterator<Item = i32> {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    threads.filter_map(|thread| thread.file_name().to_str()?.parse().ok())
}
