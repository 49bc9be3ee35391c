//! Decides which events of a thread reach agents.

use crate::records::agents::Agent;
use crate::records::phase::{self, Phase};
use crate::sync::vm_locks;
use crate::threads::Thread;
use jni_sys::jint;
use jvmpi_sys::{JVMPI_EVENT_JVM_SHUT_DOWN, JVMPI_EVENT_METHOD_ENTRY};

/// Returns true if the agent has enabled this event and would get one from the current thread now.
#[inline]
pub fn may_get(agent: &Agent, thread: &Thread, event_type: jint) -> bool {
    agent.wants(event_type) && reaches_agents(thread, event_type)
}

/// Returns true if this event, on the current thread, would reach an agent that has enabled it.
pub fn reaches_agents(thread: &Thread, event_type: jint) -> bool {
    !thread.is_hidden() && is_open(thread, event_type) && !vm_locks::is_suspending()
}

/// Returns true if the thread's current activity is reported at all: the thread is not running the shim's own code, and
/// its events may be sent.
pub fn is_reported(thread: &Thread) -> bool {
    !thread.is_internal() && is_open(thread, JVMPI_EVENT_METHOD_ENTRY)
}

/// Returns true if this event may be sent on the thread now. After THREAD_END only JVM_SHUT_DOWN follows, and nothing
/// after that. Nothing precedes THREAD_START, which cannot be sent while the thread is being attached.
pub fn is_open(thread: &Thread, event_type: jint) -> bool {
    match phase::now() {
        Phase::Replaying | Phase::Live => !thread.has_ended() && !thread.id().is_null(),
        Phase::ShuttingDown => event_type == JVMPI_EVENT_JVM_SHUT_DOWN,
        Phase::Loading | Phase::Dead => false,
    }
}
