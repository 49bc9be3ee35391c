//! DisableGC, EnableGC and RunGC.

use crate::translate::collection;
use crate::world::agents::Agent;
use crate::world::order::{collections, gate, gc_switch};
use crate::world::{lookup, phase, threads};

pub fn disable(_: &Agent) {
    gate::disable_gc();
}

pub fn enable(_: &Agent) {
    gate::enable_gc();
    lookup::end_run();
}

/// Runs a garbage collection. Has no effect while an agent has disabled GC.
pub fn run(_: &Agent) {
    if !phase::vm_answers() || gc_switch::is_off() {
        return;
    }
    let Some((jni, thread)) = threads::current_attached() else { return };
    if let Err(error) = collections::run(jni, &thread, collection::play) {
        log::debug!("RunGC failed: {error}");
    }
}
