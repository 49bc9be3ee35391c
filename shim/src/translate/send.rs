//! Sends an event of the current thread, after the events that must precede it.

use super::{construction, threads};
use crate::jvm::Jni;
use crate::notify::Delivery;
use crate::records::agents::Agent;
use crate::threads::Thread;
use jni_sys::jint;
use jvmpi_sys::{EventBody, JVMPI_EVENT_THREAD_START};

/// Sends an event to every agent that has enabled it.
pub fn to_all<A: EventBody>(jni: Jni, thread: &Thread, event_type: jint, body: A) {
    if let Some(delivery) = Delivery::begin(thread, event_type) {
        for agent in delivery.agents().iter() {
            with(jni, &delivery, agent, body);
        }
    }
}

/// Sends an event to one agent, if it has enabled it and may get it now. Returns the event data, which the agent may
/// have changed.
#[inline]
pub fn to<A: EventBody>(jni: Jni, agent: &Agent, thread: &Thread, event_type: jint, body: A) -> A {
    match Delivery::begin_to(agent, thread, event_type) {
        Some(delivery) => with(jni, &delivery, agent, body),
        None => body,
    }
}

/// Sends the event of a delivery to one of its agents. Returns the event data, which the agent may have changed.
#[inline]
pub fn with<A: EventBody>(jni: Jni, delivery: &Delivery<'_>, agent: &Agent, body: A) -> A {
    precede(jni, delivery, agent);
    delivery.send(agent, body)
}

/// Does the same as [`with`], but the event has the flag of a requested event.
pub fn as_requested<A: EventBody>(jni: Jni, delivery: &Delivery<'_>, agent: &Agent, body: A) -> A {
    precede(jni, delivery, agent);
    delivery.send_as_requested(agent, body)
}

/// Does the same as [`to`], but names another thread, which must be live.
pub fn to_as<A: EventBody>(
    jni: Jni,
    agent: &Agent,
    thread: &Thread,
    other: &Thread,
    event_type: jint,
    body: A,
) {
    if let Some(delivery) = Delivery::begin_to(agent, thread, event_type) {
        precede(jni, &delivery, agent);
        threads::announce(jni, agent, thread, other);
        delivery.send_as(agent, other.env(), body);
    }
}

/// Sends the events that the agent must get before any other event of the thread.
#[inline]
fn precede(jni: Jni, delivery: &Delivery<'_>, agent: &Agent) {
    let thread = delivery.thread();
    construction::send_held(jni, thread);
    if delivery.event_type() != JVMPI_EVENT_THREAD_START {
        threads::announce(jni, agent, thread, thread);
    }
}
