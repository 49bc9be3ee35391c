//! METHOD_ENTRY, METHOD_ENTRY2 and METHOD_EXIT.

use super::{classes as class_events, objects};
use crate::jvm::{self, Jni};
use crate::notify;
use crate::world::agents;
use crate::world::threads::{self, Thread};
use crate::world::tracked::{self, Tracked};
use jni_sys::jobject;
use jvmpi_sys::{
    JVMPI_EVENT_METHOD_ENTRY, JVMPI_EVENT_METHOD_ENTRY2, JVMPI_EVENT_METHOD_EXIT,
    JVMPI_Event_method, JVMPI_Event_method_entry2,
};
use std::ptr;

/// A rewritten method was entered. `receiver` is the object it is called on, None if the code
/// could not pass it, as a constructor cannot.
pub fn entered(jni: Jni, number: usize, receiver: Option<jobject>) {
    let thread = threads::current(jni);
    if thread.is_quiet() {
        return;
    }
    tracked::with(jni, number, |method| {
        thread.subject.while_tracking(|| {
            enter(jni, &thread, method);
            if agents::anyone_wants(JVMPI_EVENT_METHOD_ENTRY2) {
                enter2(jni, &thread, method, receiver);
            }
        });
    });
}

fn enter(jni: Jni, thread: &Thread, method: Tracked<'_>) {
    let u = JVMPI_Event_method { method_id: method.id };
    for agent in agents::wanting(JVMPI_EVENT_METHOD_ENTRY) {
        class_events::announce(jni, agent, thread, method.class);
        thread.calls.enter(agent);
        notify::deliver(jni, agent, thread, JVMPI_EVENT_METHOD_ENTRY, u);
    }
}

fn enter2(jni: Jni, thread: &Thread, method: Tracked<'_>, receiver: Option<jobject>) {
    // The frame of the Tracker's native is 0.
    const CALLER: i32 = 1;
    let receiver =
        receiver.or_else(|| jvm::get().jvmti.local_instance(ptr::null_mut(), CALLER).ok());
    let receiver = receiver.unwrap_or(ptr::null_mut());
    for agent in agents::wanting(JVMPI_EVENT_METHOD_ENTRY2) {
        class_events::announce(jni, agent, thread, method.class);
        let obj_id = objects::introduce(jni, agent, thread, receiver).unwrap_or(ptr::null_mut());
        let method_entry2 = JVMPI_Event_method_entry2 { method_id: method.id, obj_id };
        thread.subject.with(obj_id, receiver, || {
            let u = method_entry2;
            notify::deliver(jni, agent, thread, JVMPI_EVENT_METHOD_ENTRY2, u);
        });
    }
}

/// A rewritten method is about to be left, by return or by exception.
pub fn exited(jni: Jni, number: usize) {
    let thread = threads::current(jni);
    if thread.is_quiet() {
        return;
    }
    tracked::with(jni, number, |method| {
        let u = JVMPI_Event_method { method_id: method.id };
        for agent in agents::wanting(JVMPI_EVENT_METHOD_EXIT) {
            // An agent that hears of entries hears of the exits that belong to them.
            if thread.calls.exit(agent) || !agent.wants(JVMPI_EVENT_METHOD_ENTRY) {
                class_events::announce(jni, agent, &thread, method.class);
                thread.subject.while_tracking(|| {
                    notify::deliver(jni, agent, &thread, JVMPI_EVENT_METHOD_EXIT, u);
                });
            }
        }
    });
}
