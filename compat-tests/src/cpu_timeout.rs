//! The CPU-time timeout after which a run counts as hung.

use std::time::Duration;

use jvmpi_cpu_timeout::CpuTimeout;

use crate::machine::Machine;

/// The default timeout, and the factor for an emulator or for Wine, whose server has a share of the work.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
const EMULATED: u32 = 10;

/// Starts a timeout for a process, longer in an emulator and in Wine. CPU time of its partner process counts too.
pub(crate) fn with(process: u32, partner: Option<u32>, patience: Duration) -> CpuTimeout {
    let machine = Machine::this();
    let is_emulated = machine.emulator().is_some() || machine.is_windows();
    let emulated = if is_emulated { EMULATED } else { 1 };
    CpuTimeout::new(patience * emulated, partner.into_iter().chain([process]).collect())
}
