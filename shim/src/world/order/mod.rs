//! The order of events: what is announced first, when an ID may die, which thread waits for which.

pub mod aim;
pub mod announced;
pub mod announcements;
pub mod barrier;
pub mod bounded_wait;
pub mod claims;
pub mod collections;
pub mod deaths;
pub mod epoch;
pub mod gate;
mod gc_counts;
pub mod gc_switch;
pub mod in_flight;
mod lock_owner;
mod starving;
pub mod turn;
