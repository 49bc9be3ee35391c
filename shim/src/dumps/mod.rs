//! Answers RequestEvent for HEAP_DUMP, OBJECT_DUMP and MONITOR_DUMP.

mod class_objects;
pub mod heap_dump;
mod layouts;
mod locked;
pub mod monitor_dump;
pub mod object_dump;
mod record;
mod stacks;
mod stop_the_world;
mod walk;
