//! The one door to an agent: every event goes through [`deliver`] or [`request`].

use crate::jvm::Jni;
use crate::translate;
use crate::world::agents::{self, Agent};
use crate::world::gate;
use crate::world::phase::{self, Phase};
use crate::world::threads::Thread;
use jni_sys::{JNIEnv, jint};
use jvmpi_sys::{
    JVMPI_EVENT_JVM_SHUT_DOWN, JVMPI_EVENT_THREAD_START, JVMPI_Event, JVMPI_Event_u,
    JVMPI_REQUESTED_EVENT,
};

/// Sends an event of the thread that runs to every agent that has enabled it.
pub fn post(jni: Jni, thread: &Thread, event_type: jint, u: JVMPI_Event_u) {
    for agent in agents::wanting(event_type) {
        deliver(jni, agent, thread, event_type, u);
    }
}

/// Sends an event of the thread that runs to one agent, if it has enabled it and may get it now;
/// returns what the agent left in the event.
pub fn deliver(
    jni: Jni,
    agent: &Agent,
    thread: &Thread,
    event_type: jint,
    u: JVMPI_Event_u,
) -> JVMPI_Event_u {
    if !agent.wants(event_type) || thread.is_hidden() || !is_open(thread, event_type) {
        return u;
    }
    if event_type != JVMPI_EVENT_THREAD_START {
        translate::threads::announce(jni, agent, thread, thread);
    }
    call(agent, thread, thread.env(), event_type, u)
}

/// Sends an event that no thread of the program causes: what a collection does. `env_id` is that
/// of a live thread that the agent knows, as agents look up its thread-local data.
pub fn deliver_for_collector(
    agent: &Agent,
    current: &Thread,
    env_id: *mut JNIEnv,
    event_type: jint,
    u: JVMPI_Event_u,
) {
    if agent.wants(event_type) && matches!(phase::now(), Phase::Replaying | Phase::Live) {
        call(agent, current, env_id, event_type, u);
    }
}

/// Sends the event that an agent has asked for with RequestEvent.
pub fn request(agent: &Agent, thread: &Thread, event_type: jint, u: JVMPI_Event_u) {
    call(agent, thread, thread.env(), event_type | JVMPI_REQUESTED_EVENT, u);
}

/// Nothing follows THREAD_END of the thread but the VM's end, and nothing JVM_SHUT_DOWN.
fn is_open(thread: &Thread, event_type: jint) -> bool {
    match phase::now() {
        Phase::Replaying | Phase::Live => !thread.has_ended(),
        Phase::ShuttingDown => event_type == JVMPI_EVENT_JVM_SHUT_DOWN,
        Phase::Loading | Phase::Dead => false,
    }
}

fn call(
    agent: &Agent,
    current: &Thread,
    env_id: *mut JNIEnv,
    event_type: jint,
    u: JVMPI_Event_u,
) -> JVMPI_Event_u {
    let mut event = JVMPI_Event { event_type, env_id, u };
    if let Some(notify_event) = agent.notify_event() {
        let _passage = gate::enter(current);
        // SAFETY: the agent stored the function in its table for this purpose; the event and what
        // it points to live until it returns.
        unsafe { notify_event(&mut event) };
    }
    event.u
}
