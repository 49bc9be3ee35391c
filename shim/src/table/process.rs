//! ProfilerExit.

use crate::records::agents::Agent;
use crate::records::phase::{self, Phase};
use jni_sys::jint;

/// Ends the process without sending any further event, not even JVM_SHUT_DOWN. Does not return.
pub fn profiler_exit(_agent: &Agent, exit_code: jint) {
    phase::advance(Phase::Dead);
    // This calls the C library's exit, which flushes stdio.
    std::process::exit(exit_code)
}
