//! The only module that calls agents. Every event is a [`Delivery`], [`request`]ed or [sent for the
//! VM](deliver_for_vm), or it takes the [`short_cut`].

mod delivery;
mod handler;
mod recipients;
pub mod short_cut;
mod vm_events;

pub use delivery::Delivery;
pub use recipients::{is_reported, may_get, reaches_agents};
pub use vm_events::{deliver_for_vm, request};
