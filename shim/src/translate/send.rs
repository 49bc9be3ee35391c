//! Sends an event of the current thread, after the events that must precede it.

use super::announce;
use crate::classes::Linking;
use crate::notify::Delivery;
use crate::records::agents::Agent;
use crate::threads::Thread;
use jni_sys::{jint, jobject};
use jvm::Jni;
use jvmpi_sys::{EventBody, jobjectID};

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
    announce::before(jni, delivery, agent);
    delivery.send(agent, body)
}

/// Sends an event of the current thread about an object, after announcing the object. `body` builds the event
/// body for an agent from the object's ID. Returns false if an agent gets no event because the object is a
/// Class object that cannot be announced yet.
pub fn about<A: EventBody>(
    jni: Jni,
    thread: &Thread,
    event_type: jint,
    object: jobject,
    body: impl Fn(&Agent, jobjectID) -> A,
) -> bool {
    let Some(delivery) = Delivery::begin(thread, event_type) else { return true };
    let mut is_sent = true;
    for agent in delivery.agents().iter() {
        match announce::object(jni, agent, thread, object, Linking::Boot) {
            Ok(id) if id.is_null() && !object.is_null() => is_sent = false,
            Ok(id) => thread.current_object.with(id, object, || {
                with(jni, &delivery, agent, body(agent, id));
            }),
            Err(error) => log::debug!("the object of an event is not announced: {error}"),
        }
    }
    is_sent
}
