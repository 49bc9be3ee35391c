//! HEAP_DUMP, OBJECT_DUMP and MONITOR_DUMP: what RequestEvent makes of them.

pub mod heap_dump;
mod held;
mod layouts;
pub mod monitor_dump;
pub mod object_dump;
mod record;
mod stacks;
mod standstill;
mod walk;
