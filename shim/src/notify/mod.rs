//! The only module that calls agents. Every event is a [`Delivery`], [`request`]ed or [sent for the
//! VM](deliver_for_vm), or it takes the [`short_cut`].

mod delivery;
pub mod short_cut;

pub use delivery::{Delivery, deliver_for_vm, is_reported, may_get, reaches_agents, request};
