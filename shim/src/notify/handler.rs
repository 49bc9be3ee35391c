//! The call of an agent's handler.

use crate::lock::assert_none_held;
use crate::records::agents::Agent;
use jni_sys::{JNIEnv, jint};
use jvmpi_sys::{EventBody, JVMPI_Event};
use std::mem::MaybeUninit;
use std::ptr;

/// Calls the agent's handler, inside the gate.
#[inline]
pub(super) fn call_inside<A: EventBody>(
    agent: &Agent,
    env_id: *mut JNIEnv,
    event_type: jint,
    body: A,
) -> A {
    let Some(notify_event) = agent.notify_event() else { return body };
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
