//! The memory barrier that the kernel runs on all threads of the process.

use windows_sys::Win32::System::Threading::FlushProcessWriteBuffers;

/// Returns true: Windows needs no registration.
pub fn register() -> bool {
    true
}

/// Has each thread that is on a processor run a memory barrier.
pub fn of_all_threads() {
    // SAFETY: the function has no precondition.
    unsafe { FlushProcessWriteBuffers() };
}
