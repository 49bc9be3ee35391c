//! Windows: its local time, its files, and memory that is reserved before it is committed.

#[cfg(feature = "profile")]
pub mod local_time;
mod memory;
pub mod planted;

pub use memory::{Reserved, available};
