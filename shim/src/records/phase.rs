//! How far the VM's life has gone, as agents see it.

use super::epoch;
use crate::platform::os_thread::os_thread;
use std::sync::atomic::{AtomicI32, AtomicU8, Ordering};

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
/// The OS thread that sends JVM_SHUT_DOWN, 0 before.
static ENDING: AtomicI32 = AtomicI32::new(0);

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

/// Begins [`Phase::ShuttingDown`], in which the current thread sends JVM_SHUT_DOWN. False if that was begun before.
pub fn begin_shut_down() -> bool {
    let begun = ENDING.compare_exchange(0, os_thread(), Ordering::Relaxed, Ordering::Relaxed);
    begun.is_ok() && advance(Phase::ShuttingDown)
}

/// True if the current thread is the one that sends JVM_SHUT_DOWN, and does so now.
pub fn is_shutting_down_here() -> bool {
    now() == Phase::ShuttingDown && ENDING.load(Ordering::Relaxed) == os_thread()
}

/// True if what the current thread requests for an agent is sent: once JVM_SHUT_DOWN has begun, only what its
/// handlers request.
pub fn answers_requests() -> bool {
    matches!(now(), Phase::Replaying | Phase::Live) || is_shutting_down_here()
}

/// Whether functions that need a running VM can work.
pub fn vm_answers() -> bool {
    matches!(now(), Phase::Replaying | Phase::Live | Phase::ShuttingDown)
}
