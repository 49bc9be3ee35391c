//! Sending an event of the current thread, after what must precede it.

use super::{construction, threads};
use crate::jvm::Jni;
use crate::notify;
use crate::records::agents::{self, Agent};
use crate::threads::Thread;
use jni_sys::jint;
use jvmpi_sys::{Arm, JVMPI_EVENT_THREAD_START};

/// Sends it to every agent that has enabled it.
pub fn to_all<A: Arm>(jni: Jni, thread: &Thread, event_type: jint, arm: A) {
    for agent in agents::wanting(event_type) {
        to(jni, agent, thread, event_type, arm);
    }
}

/// Sends it to one agent, if it has enabled it and may get it now; returns what the agent left in the
/// event.
#[inline]
pub fn to<A: Arm>(jni: Jni, agent: &Agent, thread: &Thread, event_type: jint, arm: A) -> A {
    if !notify::may_get(agent, thread, event_type) {
        return arm;
    }
    construction::send_held(jni, thread);
    if event_type != JVMPI_EVENT_THREAD_START {
        threads::announce(jni, agent, thread, thread);
    }
    notify::deliver(agent, thread, event_type, arm)
}

/// As [`to`], in the name of another thread, which must be live.
pub fn to_as<A: Arm>(
    jni: Jni,
    agent: &Agent,
    thread: &Thread,
    other: &Thread,
    event_type: jint,
    arm: A,
) {
    if notify::may_get(agent, thread, event_type) {
        construction::send_held(jni, thread);
        threads::announce(jni, agent, thread, thread);
        threads::announce(jni, agent, thread, other);
        notify::deliver_as(agent, thread, other.env(), event_type, arm);
    }
}
