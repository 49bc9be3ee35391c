//! The number by which the system knows a thread.

use std::cell::Cell;

thread_local! {
    static OS_THREAD: Cell<i32> = const { Cell::new(0) };
}

/// The number by which the system knows the thread that runs.
pub fn os_thread() -> i32 {
    // SAFETY: gettid has no preconditions.
    let ask = || unsafe { libc::gettid() };
    OS_THREAD
        .try_with(|cell| {
            if cell.get() == 0 {
                cell.set(ask());
            }
            cell.get()
        })
        .unwrap_or_else(|_| ask())
}
