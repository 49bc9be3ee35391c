//! How much time of its own a run may take before it counts as hung.

use std::time::Duration;

use own_time::Patience;

use crate::machine::Machine;

/// The usual, and how many times that it is in an emulator.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
const EMULATED: u32 = 10;

/// So much, or more in an emulator, with a process. What its partner does for it counts as its own.
pub(crate) fn with(process: u32, partner: Option<u32>, patience: Duration) -> Patience {
    let emulated = if Machine::this().emulator().is_some() { EMULATED } else { 1 };
    Patience::new(patience * emulated, partner.into_iter().chain([process]).collect())
}
