//! The operating system's priority of a thread.

use windows_sys::Win32::System::Threading::{
    GetCurrentThread, SetThreadPriority, THREAD_PRIORITY_HIGHEST,
};

/// Makes the current thread run soon after it wakes up, ahead of the program's threads.
pub fn favour_current_thread() {
    // SAFETY: the handle is that of this thread. If the system refuses, the thread keeps its priority.
    unsafe { SetThreadPriority(GetCurrentThread(), THREAD_PRIORITY_HIGHEST) };
}
