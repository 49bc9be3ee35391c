//! Parts that only Linux has: its files in `/proc`, its owners, links and pipes. Of the rest of this crate, only
//! `profile/model/time.rs` calls the system.

mod memory;
pub mod planted;

pub use memory::{advise_large_pages, available};
