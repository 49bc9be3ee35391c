//! Answers RequestEvent for HEAP_DUMP, OBJECT_DUMP and MONITOR_DUMP.

pub mod heap_dump;
mod locked;
pub mod monitor_dump;
pub mod object_dump;
mod stacks;
mod walk;

use crate::records::phase;

/// Logs the reason why there is no dump. That the VM has ended meanwhile is not worth a warning.
fn log_failure(kind: &str, reason: &dyn std::fmt::Display) {
    let level = if phase::vm_answers() { log::Level::Warn } else { log::Level::Debug };
    log::log!(level, "no {kind} dump: {reason}");
}
