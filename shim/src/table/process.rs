//! ProfilerExit.

use crate::world::agents::Agent;
use crate::world::phase::{self, Phase};
use jni_sys::jint;

/// Ends the process; no event is sent any more, JVM_SHUT_DOWN neither. Does not return.
pub fn profiler_exit(_agent: &Agent, exit_code: jint) {
    phase::advance(Phase::Dead);
    // SAFETY: exit may be called by any thread; it writes out what stdio holds.
    unsafe { libc::exit(exit_code) }
}
