//! Linux: its files in `/proc`, its owners, links and pipes.

#[cfg(feature = "profile")]
pub mod local_time;
mod memory;
pub mod planted;

pub use memory::{Reserved, available};
