//! JNI_GLOBALREF_ALLOC and FREE, JNI_WEAK_GLOBALREF_ALLOC and FREE.

use super::send;
use crate::classes::references::{self, Kind};
use crate::notify;
use crate::records::agents;
use crate::threads;
use jni_sys::{jint, jobject};
use jvm::Jni;
use jvmpi_sys::{
    JVMPI_EVENT_JNI_GLOBALREF_ALLOC, JVMPI_EVENT_JNI_GLOBALREF_FREE,
    JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC, JVMPI_EVENT_JNI_WEAK_GLOBALREF_FREE,
    JVMPI_Event_jni_globalref_alloc, JVMPI_Event_jni_globalref_free,
};

/// Returns the event type for a new reference.
fn alloc(kind: Kind) -> jint {
    match kind {
        Kind::Strong => JVMPI_EVENT_JNI_GLOBALREF_ALLOC,
        Kind::Weak => JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC,
    }
}

/// Returns the event type for a deleted reference.
fn free(kind: Kind) -> jint {
    match kind {
        Kind::Strong => JVMPI_EVENT_JNI_GLOBALREF_FREE,
        Kind::Weak => JVMPI_EVENT_JNI_WEAK_GLOBALREF_FREE,
    }
}

/// Reports that the current thread has created a reference to the object.
pub fn made(jni: Jni, kind: Kind, object: jobject, reference: jobject) {
    let thread = threads::current(jni);
    if !agents::anyone_wants(alloc(kind)) || !notify::is_reported(&thread) {
        return;
    }
    jni.frame(8, |jni| {
        send::about(jni, &thread, alloc(kind), object, |agent, obj_id| {
            references::mark_announced(kind, reference, agent);
            JVMPI_Event_jni_globalref_alloc { obj_id, ref_id: reference }
        });
    });
}

/// Reports that the current thread is about to delete a reference.
pub fn deleted(jni: Jni, kind: Kind, reference: jobject) {
    let announced = references::forget(reference);
    let thread = threads::current(jni);
    if !agents::anyone_wants(free(kind)) || !notify::is_reported(&thread) {
        return;
    }
    jni.frame(8, |jni| {
        let u = JVMPI_Event_jni_globalref_free { ref_id: reference };
        for agent in agents::wanting(free(kind)) {
            // An agent that gets the events for new references gets this one only for references
            // that were announced to it.
            if announced.includes(agent) || !agent.wants(alloc(kind)) {
                send::to(jni, agent, &thread, free(kind), u);
            }
        }
    });
}
