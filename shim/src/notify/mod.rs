//! The only module that calls agents. Every event is a [`Delivery`], [`request`]ed or [sent for the
//! VM](deliver_for_vm), or it takes the [`short_cut`].

pub mod short_cut;

use crate::gc::gate;
use crate::records::agents::{self, Agent, AgentSet, Handler};
use crate::records::in_flight::Passage;
use crate::records::phase::{self, Phase};
use crate::sync::vm_locks;
use crate::threads::Thread;
use jni_sys::{JNIEnv, jint};
use jvm::lock::assert_none_held;
use jvmpi_sys::{
    EventBody, JVMPI_EVENT_JVM_SHUT_DOWN, JVMPI_EVENT_METHOD_ENTRY, JVMPI_Event,
    JVMPI_REQUESTED_EVENT,
};
use std::mem::MaybeUninit;
use std::ptr;

/// An event of the current thread on its way to the agents that get it.
///
/// The agents are chosen once, when the delivery begins. An agent that enables the event type later gets the next
/// event. While the delivery lives, the event is in flight: no ID dies or changes.
pub struct Delivery<'a> {
    thread: &'a Thread,
    event_type: jint,
    agents: AgentSet,
    _passage: Passage<'a>,
}

impl<'a> Delivery<'a> {
    /// Begins the delivery to all agents that have enabled the event type. Returns None if nobody gets the event.
    #[inline]
    pub fn begin(thread: &'a Thread, event_type: jint) -> Option<Self> {
        let chosen = || agents::all_wanting(event_type);
        if agents::anyone_wants(event_type) { Self::pass(thread, event_type, chosen) } else { None }
    }

    /// Begins the delivery to one agent. Returns None if it does not get the event.
    #[inline]
    pub fn begin_to(agent: &Agent, thread: &'a Thread, event_type: jint) -> Option<Self> {
        let chosen = || AgentSet::of(agent);
        if agent.wants(event_type) { Self::pass(thread, event_type, chosen) } else { None }
    }

    #[inline]
    fn pass(
        thread: &'a Thread,
        event_type: jint,
        chosen: impl FnOnce() -> AgentSet,
    ) -> Option<Self> {
        let passage = gate::enter(thread);
        let mut agents = chosen();
        if event_type != JVMPI_EVENT_JVM_SHUT_DOWN {
            agents.retain(|agent| !thread.announced.is_withdrawn(agent));
        }
        // Checked after the gate, because the VM may end while an event waits there.
        let reaches = agents != AgentSet::default() && reaches_agents(thread, event_type);
        reaches.then(|| Self { thread, event_type, agents, _passage: passage })
    }

    pub fn agents(&self) -> AgentSet {
        self.agents
    }

    /// Leaves out the agents for which `keep` returns false.
    pub fn retain(&mut self, keep: impl FnMut(&'static Agent) -> bool) {
        self.agents.retain(keep);
    }

    pub fn thread(&self) -> &'a Thread {
        self.thread
    }

    pub fn event_type(&self) -> jint {
        self.event_type
    }

    /// Calls the handler of one of the agents. Returns the event data, which the agent may have changed. All IDs in the
    /// event have been announced before.
    #[inline]
    pub fn send<A: EventBody>(&self, agent: &Agent, body: A) -> A {
        self.send_as(agent, self.thread.env(), self.event_type, body)
    }

    /// Does the same as [`send`](Self::send), with another thread in the event, or with the flag of a requested event.
    #[inline]
    pub fn send_as<A: EventBody>(
        &self,
        agent: &Agent,
        env_id: *mut JNIEnv,
        event_type: jint,
        body: A,
    ) -> A {
        // Both may have changed since the beginning. A handler that got an announcement may have disabled the event
        // type, and the VM does not wait for a handler that waits for the VM.
        if agent.wants(self.event_type) && is_open(self.thread, self.event_type) {
            call_inside(agent, env_id, event_type, body)
        } else {
            body
        }
    }
}

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

/// Calls the agent's handler, inside the gate.
#[inline]
fn call_inside<A: EventBody>(agent: &Agent, env_id: *mut JNIEnv, event_type: jint, body: A) -> A {
    let Some(notify_event) = agent.notify_event() else { return body };
    call(notify_event, env_id, event_type, body)
}

/// Calls the handler of an agent, inside the gate.
#[inline]
fn call<A: EventBody>(notify_event: Handler, env_id: *mut JNIEnv, event_type: jint, body: A) -> A {
    assert_none_held();
    // Left uninitialized, because most events fill only a small part of the structure.
    let mut event = MaybeUninit::<JVMPI_Event>::uninit();
    let event = event.as_mut_ptr();
    // SAFETY: this function owns the event, and every union member begins where `u` begins. The agent stored the
    // function in its table to be called with events. The event lives until the function returns, which leaves the
    // member initialized.
    unsafe {
        ptr::addr_of_mut!((*event).event_type).write(event_type);
        ptr::addr_of_mut!((*event).env_id).write(env_id);
        let u = ptr::addr_of_mut!((*event).u).cast::<A>();
        u.write(body);
        notify_event(event);
        u.read()
    }
}
