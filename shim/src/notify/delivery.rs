//! The delivery of one event to its agents.

use super::handler::call_inside;
use super::recipients::{is_open, reaches_agents};
use crate::gc::gate;
use crate::records::agents::{self, Agent, AgentSet};
use crate::records::in_flight::Passage;
use crate::threads::Thread;
use jni_sys::{JNIEnv, jint};
use jvmpi_sys::{EventBody, JVMPI_EVENT_JVM_SHUT_DOWN, JVMPI_REQUESTED_EVENT};

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

    /// Returns the agents that get the event.
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
        self.send_as(agent, self.thread.env(), body)
    }

    /// Does the same as [`send`](Self::send), with `env_id` as the event's thread.
    #[inline]
    pub fn send_as<A: EventBody>(&self, agent: &Agent, env_id: *mut JNIEnv, body: A) -> A {
        self.send_typed(agent, env_id, self.event_type, body)
    }

    /// Does the same as [`send`](Self::send), with the flag of a requested event.
    pub fn send_as_requested<A: EventBody>(&self, agent: &Agent, body: A) -> A {
        self.send_typed(agent, self.thread.env(), self.event_type | JVMPI_REQUESTED_EVENT, body)
    }

    #[inline]
    fn send_typed<A: EventBody>(
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
