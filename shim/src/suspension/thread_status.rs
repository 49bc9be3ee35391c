//! The status of a thread for agents.

use super::executing;
use crate::records::virtual_thread;
use crate::threads::Thread;
use jni_sys::jint;
use jvm::types::*;
use jvmpi_sys::{
    JVMPI_THREAD_CONDVAR_WAIT, JVMPI_THREAD_INTERRUPTED, JVMPI_THREAD_MONITOR_WAIT,
    JVMPI_THREAD_RUNNABLE, JVMPI_THREAD_SUSPENDED,
};

/// Returns the thread's JVMTI state, without a suspension by an agent. None if it is unknown.
pub fn state(thread: &Thread) -> Option<jint> {
    let state = executing::jvmti_state(thread)?;
    let hidden = if thread.suspension.is_ours() { JVMTI_THREAD_STATE_SUSPENDED } else { 0 };
    Some(state & !hidden)
}

/// Returns the `JVMPI_THREAD_…` status of a thread with this state. A thread that waits at a raw monitor,
/// which the shim implements, runs native code for the VM.
pub fn of(thread: &Thread, state: jint) -> jint {
    let status = of_state(state, virtual_thread::are_threads());
    match thread.status_at_raw_monitor() {
        Some(waits) if status & STATES == JVMPI_THREAD_RUNNABLE => status & !STATES | waits,
        _ => status,
    }
}

/// Returns true if agents see a thread with this state as runnable.
pub fn is_runnable(thread: &Thread, state: jint) -> bool {
    of(thread, state) & STATES == JVMPI_THREAD_RUNNABLE
}

/// The bits of a status that contain the state.
const STATES: jint = JVMPI_THREAD_RUNNABLE | JVMPI_THREAD_MONITOR_WAIT | JVMPI_THREAD_CONDVAR_WAIT;

/// Returns the `JVMPI_THREAD_…` status for a state.
fn of_state(state: jint, is_carried: bool) -> jint {
    let has = |bit| state & bit != 0;
    if !has(JVMTI_THREAD_STATE_ALIVE) {
        return 0;
    }
    // JVMTI shows a carrier whose virtual thread runs as waiting too, but with none of these bits. Agents
    // see it as running, unless the virtual thread has its own record.
    let waits =
        JVMTI_THREAD_STATE_IN_OBJECT_WAIT | JVMTI_THREAD_STATE_PARKED | JVMTI_THREAD_STATE_SLEEPING;
    let waits = waits | if is_carried { JVMTI_THREAD_STATE_WAITING } else { 0 };
    let mut status = if has(JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER) {
        JVMPI_THREAD_MONITOR_WAIT
    } else if has(waits) {
        JVMPI_THREAD_CONDVAR_WAIT
    } else {
        JVMPI_THREAD_RUNNABLE
    };
    if has(JVMTI_THREAD_STATE_SUSPENDED) {
        status |= JVMPI_THREAD_SUSPENDED;
    }
    if has(JVMTI_THREAD_STATE_INTERRUPTED) {
        status |= JVMPI_THREAD_INTERRUPTED;
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vm_s_thread_states_become_jvmpi_s() {
        const ALIVE: jint = JVMTI_THREAD_STATE_ALIVE;
        let waiting = ALIVE | JVMTI_THREAD_STATE_WAITING;
        for (state, status) in [
            (0, 0),
            (JVMTI_THREAD_STATE_TERMINATED, 0),
            (ALIVE | JVMTI_THREAD_STATE_RUNNABLE, 1),
            (ALIVE | JVMTI_THREAD_STATE_RUNNABLE | JVMTI_THREAD_STATE_IN_NATIVE, 1),
            (ALIVE | JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER, 2),
            (waiting | JVMTI_THREAD_STATE_IN_OBJECT_WAIT, 3),
            (waiting | JVMTI_THREAD_STATE_PARKED, 3),
            (waiting | JVMTI_THREAD_STATE_SLEEPING, 3),
            (waiting | JVMTI_THREAD_STATE_WAITING_INDEFINITELY, 1),
            (ALIVE | JVMTI_THREAD_STATE_RUNNABLE | JVMTI_THREAD_STATE_SUSPENDED, 0x8001),
            (waiting | JVMTI_THREAD_STATE_PARKED | JVMTI_THREAD_STATE_INTERRUPTED, 0x4003),
        ] {
            assert_eq!(of_state(state, false), status, "{state:#x}");
        }
        let carrier = waiting | JVMTI_THREAD_STATE_WAITING_INDEFINITELY;
        assert_eq!(of_state(carrier, true), JVMPI_THREAD_CONDVAR_WAIT);
    }
}
