//! How far the VM's life has gone, as agents see it.

use super::order::epoch;
use std::sync::atomic::{AtomicU8, Ordering};

/// The stages of the VM's life, in order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Phase {
    /// Before the VM is initialized: what agents enable is recorded, no event is sent.
    Loading,
    /// Classes, threads and objects that exist already are being announced.
    Replaying,
    /// JVM_INIT_DONE has been sent.
    Live,
    /// JVM_SHUT_DOWN is being sent; only what its handlers request is sent besides.
    ShuttingDown,
    /// JVM_SHUT_DOWN has been sent, or the process is ending: no event is sent, and functions
    /// that need the VM fail softly.
    Dead,
}

static PHASE: AtomicU8 = AtomicU8::new(Phase::Loading as u8);

/// The current stage.
pub fn now() -> Phase {
    match PHASE.load(Ordering::Acquire) {
        0 => Phase::Loading,
        1 => Phase::Replaying,
        2 => Phase::Live,
        3 => Phase::ShuttingDown,
        _ => Phase::Dead,
    }
}

/// Goes on to a later stage; false if it was reached before.
pub fn advance(to: Phase) -> bool {
    let is_new = PHASE.fetch_max(to as u8, Ordering::AcqRel) < to as u8;
    epoch::change();
    is_new
}

/// Whether functions that need a running VM can work.
pub fn vm_answers() -> bool {
    matches!(now(), Phase::Replaying | Phase::Live | Phase::ShuttingDown)
}
