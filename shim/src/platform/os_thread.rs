//! The kernel's number of a thread.

use std::cell::Cell;

thread_local! {
    static OS_THREAD: Cell<i32> = const { Cell::new(0) };
}

/// The kernel's number of the current thread.
pub fn os_thread() -> i32 {
    // Not `libc::gettid`, which the C library has only since 2.30.
    // SAFETY: gettid has no preconditions.
    let ask = || unsafe { libc::syscall(libc::SYS_gettid) as i32 };
    OS_THREAD
        .try_with(|cell| {
            if cell.get() == 0 {
                cell.set(ask());
            }
            cell.get()
        })
        .unwrap_or_else(|_| ask())
}
