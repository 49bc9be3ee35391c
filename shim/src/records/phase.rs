//! The stage of the VM's life, as agents see it, and the epoch: a number that changes with everything that decides which
//! agent gets which event.
//!
//! Sending an event takes many checks: the agent has enabled it, it has got the announcements of the thread and the
//! class, the VM is not ending. They are made once for each thread and method in an epoch. Until the epoch ends, one
//! comparison replaces them.

use jvm::platform::os_thread::os_thread;
use jvm::platform::sync::atomic::AtomicU64;
use std::sync::atomic::{AtomicI32, AtomicU8, Ordering};

/// The stages of the VM's life, in order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Phase {
    /// Before the VM is initialized: enabled events are recorded, no event is sent.
    Loading,
    /// Existing classes, threads and objects are being announced.
    Replaying,
    /// JVM_INIT_DONE has been sent.
    Live,
    /// JVM_SHUT_DOWN is about to be sent or being sent. Otherwise only events that agents request are sent.
    ShuttingDown,
    /// JVM_SHUT_DOWN has been sent, or the process is ending: no event is sent, and functions
    /// that need the VM fail softly.
    Dead,
}

static PHASE: AtomicU8 = AtomicU8::new(Phase::Loading as u8);
/// The OS thread that sends JVM_SHUT_DOWN, 0 before that.
static ENDING: AtomicI32 = AtomicI32::new(0);

pub fn now() -> Phase {
    match PHASE.load(Ordering::Acquire) {
        0 => Phase::Loading,
        1 => Phase::Replaying,
        2 => Phase::Live,
        3 => Phase::ShuttingDown,
        _ => Phase::Dead,
    }
}

/// Enters a later stage. Returns false if it was reached before.
pub fn advance(to: Phase) -> bool {
    let is_new = PHASE.fetch_max(to as u8, Ordering::AcqRel) < to as u8;
    end_epoch();
    is_new
}

/// Records that the current thread sends JVM_SHUT_DOWN, for [`is_shutting_down_here`].
pub fn sends_shut_down() {
    ENDING.store(os_thread(), Ordering::Relaxed);
}

/// Returns true while the current thread is sending JVM_SHUT_DOWN.
pub fn is_shutting_down_here() -> bool {
    now() == Phase::ShuttingDown && ENDING.load(Ordering::Relaxed) == os_thread()
}

/// Returns true if functions that need a running VM can work and requested events are sent.
pub fn vm_answers() -> bool {
    matches!(now(), Phase::Replaying | Phase::Live | Phase::ShuttingDown)
}

/// Odd while the gate is closed. Never [`NO_EPOCH`].
static EPOCH: AtomicU64 = AtomicU64::new(2);

/// No epoch: for a thread or method that was never checked.
pub const NO_EPOCH: u64 = 0;

#[inline]
pub fn epoch() -> u64 {
    EPOCH.load(Ordering::Acquire)
}

/// Returns true if checks made in the epoch stay valid until it ends.
pub fn is_open(epoch: u64) -> bool {
    epoch.is_multiple_of(2)
}

/// Ends the epoch because something has changed, and begins the next one.
pub fn end_epoch() {
    EPOCH.fetch_add(2, Ordering::SeqCst);
}

/// Ends the epoch. The next one begins with [`open_epoch`]. One caller at a time.
pub fn close_epoch() {
    EPOCH.fetch_add(1, Ordering::SeqCst);
}

/// Begins an epoch after [`close_epoch`].
pub fn open_epoch() {
    EPOCH.fetch_add(1, Ordering::SeqCst);
}
