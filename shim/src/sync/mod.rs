//! Waits for other threads: locks held during calls of the VM, announcements, raw monitors.

pub mod announcements;
pub mod bounded_wait;
pub mod contention;
pub mod raw_monitors;
pub mod tagging;
pub mod vm_locks;
