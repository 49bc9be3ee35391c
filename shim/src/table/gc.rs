//! DisableGC, EnableGC and RunGC.

use crate::gc::{deaths, gate, lookup};
use crate::records::agents::Agent;
use crate::threads;
use crate::translate::collection;

pub fn disable(_: &Agent) {
    gate::disable_gc();
}

pub fn enable(_: &Agent) {
    deaths::enable_gc();
    lookup::end_run();
}

/// Runs a garbage collection. Has no effect while an agent has disabled GC.
pub fn run(_: &Agent) {
    if deaths::is_gc_disabled() {
        return;
    }
    let Some((jni, thread)) = threads::current_answered() else { return };
    if let Err(error) = collection::run(jni, &thread) {
        log::debug!("RunGC failed: {error}");
    }
}
