//! Answers RequestEvent for HEAP_DUMP, OBJECT_DUMP and MONITOR_DUMP.

pub mod heap_dump;
mod locked;
pub mod monitor_dump;
pub mod object_dump;
mod walk;
