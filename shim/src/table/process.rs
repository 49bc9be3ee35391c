//! ProfilerExit.

use crate::records::agents::Agent;
use crate::records::phase::{self, Phase};
use jni_sys::jint;

/// Ends the process without sending any further event, not even JVM_SHUT_DOWN. Does not return.
pub fn profiler_exit(_agent: &Agent, exit_code: jint) {
    phase::advance(Phase::Dead);
    // SAFETY: exit may be called by any thread; it flushes stdio.
    unsafe { libc::exit(exit_code) }
}
