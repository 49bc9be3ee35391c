//! Waits for other threads: locks held during calls of the VM, announcements, raw monitors.

pub mod announcements;
pub mod bounded_wait;
pub mod contention;
#[cfg(not(feature = "model"))]
pub mod lock_owner;
pub mod raw_monitors;
pub mod tagging;
pub mod vm_locks;

#[cfg(feature = "model")]
pub use jvm::platform::model::lock_owner;
