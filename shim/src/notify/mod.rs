//! The only module that calls agents. Every event is a [`Delivery`], [`request`]ed or [sent for the
//! VM](deliver_for_vm), or it takes the [`short_cut`].

mod delivery;
pub mod short_cut;

pub use delivery::Delivery;

use crate::gc::gate;
use crate::lock::assert_none_held;
use crate::records::agents::Agent;
use crate::records::phase::{self, Phase};
use crate::sync::claims;
use crate::threads::Thread;
use jni_sys::{JNIEnv, jint};
use jvmpi_sys::*;
use std::mem::MaybeUninit;
use std::ptr;

/// Sends an event that no thread of the program causes: what a collection does, and what the VM has not reported.
/// `env_id` is that of a live thread that is announced to the agent, as agents look up its thread-local data and
/// its `time`, which is None for that of the current thread.
pub fn deliver_for_vm<A: Arm>(
    agent: &Agent,
    current: &Thread,
    (env_id, time): (*mut JNIEnv, Option<i64>),
    event_type: jint,
    arm: A,
) {
    if agent.wants(event_type) && matches!(phase::now(), Phase::Replaying | Phase::Live) {
        current.standing_for(env_id, time, || {
            let _passage = gate::enter(current);
            // Checked again, because the agent may just have disabled the event.
            if agent.wants(event_type) {
                call_inside(agent, env_id, event_type, arm);
            }
        });
    }
}

/// Sends the event that an agent has requested. During the events of a collection it is sent in the
/// name of the same thread as those. False if the VM has ended meanwhile, so that it was not sent.
#[must_use]
pub fn request<A: Arm>(agent: &Agent, thread: &Thread, event_type: jint, arm: A) -> bool {
    // Asked when it has passed, as the VM may end while the request is served.
    let _passage = gate::enter(thread);
    let is_open = phase::vm_answers();
    if is_open {
        call_inside(agent, thread.env_for_agents(), event_type | JVMPI_REQUESTED_EVENT, arm);
    }
    is_open
}

/// Returns true if the agent has enabled this event and would get one from the current thread now.
#[inline]
pub fn may_get(agent: &Agent, thread: &Thread, event_type: jint) -> bool {
    agent.wants(event_type) && reaches_agents(thread, event_type)
}

/// Returns true if this event, on the current thread, would reach an agent that has enabled it.
pub fn reaches_agents(thread: &Thread, event_type: jint) -> bool {
    !thread.is_hidden() && is_open(thread, event_type) && !claims::is_suspending()
}

/// Returns true if the thread's current activity is reported at all: the thread is not running the shim's own code, and
/// its events may be sent.
pub fn is_reported(thread: &Thread) -> bool {
    !thread.is_quiet() && is_open(thread, JVMPI_EVENT_METHOD_ENTRY)
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

/// Calls the agent's handler, inside the gate.
#[inline]
fn call_inside<A: Arm>(agent: &Agent, env_id: *mut JNIEnv, event_type: jint, arm: A) -> A {
    let Some(notify_event) = agent.notify_event() else { return arm };
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
        u.write(arm);
        notify_event(event);
        u.read()
    }
}
