//! DisableGC, EnableGC and RunGC.

use crate::jvm;
use crate::world::agents::Agent;
use crate::world::{gate, phase};

pub fn disable(_: &Agent) {
    gate::disable_gc();
}

pub fn enable(_: &Agent) {
    gate::enable_gc();
}

/// Collects garbage; nothing happens while an agent has disabled that.
pub fn run(_: &Agent) {
    if phase::vm_answers()
        && !gate::gc_is_disabled()
        && let Err(error) = jvm::get().jvmti.force_garbage_collection()
    {
        log::debug!("no garbage was collected: {error}");
    }
}
