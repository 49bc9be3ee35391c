//! The events that are not a [`Delivery`](super::Delivery): those that no thread of the program causes, and those that
//! an agent requests.

use super::handler::call_inside;
use crate::gc::gate;
use crate::records::agents::Agent;
use crate::records::phase::{self, Phase};
use crate::threads::Thread;
use jni_sys::{JNIEnv, jint};
use jvmpi_sys::{EventBody, JVMPI_REQUESTED_EVENT};

/// Sends an event that no thread of the program causes: a GC event, or one that the VM has not reported. `env_id`
/// names a live thread that is announced to the agent, because agents look up its thread-local data. `time` is what
/// GetCurrentThreadCpuTime returns meanwhile; None for the time of the current thread.
pub fn deliver_for_vm<A: EventBody>(
    agent: &Agent,
    current: &Thread,
    (env_id, time): (*mut JNIEnv, Option<i64>),
    event_type: jint,
    body: A,
) {
    // An agent that calls RunGC in JVM_SHUT_DOWN has requested the events of that collection.
    let is_open =
        matches!(phase::now(), Phase::Replaying | Phase::Live) || phase::is_shutting_down_here();
    if agent.wants(event_type) && is_open {
        current.stand_in.standing_for(env_id, time, || {
            let _passage = gate::enter(current);
            // Checked again, because the agent may just have disabled the event.
            if agent.wants(event_type) {
                call_inside(agent, env_id, event_type, body);
            }
        });
    }
}

/// Sends the event that an agent has requested. During the events of a collection, the event names the same thread as
/// those. Returns false, without sending it, if the VM has ended meanwhile.
#[must_use]
pub fn request<A: EventBody>(agent: &Agent, thread: &Thread, event_type: jint, body: A) -> bool {
    // Checked after the gate, because the VM may end while the request is served.
    let _passage = gate::enter(thread);
    let is_open = phase::vm_answers();
    if is_open {
        call_inside(agent, thread.env_for_agents(), event_type | JVMPI_REQUESTED_EVENT, body);
    }
    is_open
}
