//! JNI_GLOBALREF_ALLOC and FREE, JNI_WEAK_GLOBALREF_ALLOC and FREE, reported by replacements of the JNI functions; and
//! the references that were announced to agents.

use super::announce;
use super::jni_functions::{originals, replaces};
use crate::records::agents::{self, Agent, AgentSet};
use crate::records::ids;
use crate::{notify, threads};
use jni_sys::{JNIEnv, jint, jobject};
use jvm::boundary::guard;
use jvm::lock::Map;
use jvm::{Jni, old_verifier, with_return_address};
use jvmpi_sys::*;
use std::collections::HashMap;
use std::ptr;
use std::sync::LazyLock;

/// A kind of global reference.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Strong,
    Weak,
}

/// The kind of each reference, and the agents to which it was announced.
static ANNOUNCED: LazyLock<Map<usize, (Kind, AgentSet)>> = LazyLock::new(Map::new);

/// Records that the reference is announced to the agent.
fn mark_announced(kind: Kind, reference: jobject, agent: &Agent) {
    let nobody = || (kind, AgentSet::default());
    ANNOUNCED.change_or_insert(reference.expose_provenance(), nobody, |(_, announced)| {
        announced.add(agent);
    });
}

/// Returns the strong references that were announced to the agent, by the IDs of their
/// objects.
pub fn strong_by_object(agent: &Agent) -> HashMap<usize, Vec<usize>> {
    let mut by_object = HashMap::<_, Vec<_>>::new();
    for (reference, (kind, announced)) in ANNOUNCED.entries() {
        if kind != Kind::Strong || !announced.includes(agent) {
            continue;
        }
        if let Ok(tag) = ids::tag(ptr::with_exposed_provenance_mut(reference)) {
            by_object.entry(tag.id().addr()).or_default().push(reference);
        }
    }
    by_object
}

/// Removes a deleted reference. Returns the agents to which it was announced.
fn forget(reference: jobject) -> AgentSet {
    ANNOUNCED.remove(reference.addr()).map_or(AgentSet::default(), |(_, announced)| announced)
}

/// Removes all references, because they are no longer reported.
pub fn forget_all() {
    ANNOUNCED.take_all();
}

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
fn made(jni: Jni, kind: Kind, object: jobject, reference: jobject) {
    let thread = threads::current(jni);
    if !agents::anyone_wants(alloc(kind)) || !notify::is_reported(&thread) {
        return;
    }
    jni.frame(8, |jni| {
        announce::send_about(jni, &thread, alloc(kind), object, |agent, obj_id| {
            mark_announced(kind, reference, agent);
            JVMPI_Event_jni_globalref_alloc { obj_id, ref_id: reference }
        });
    });
}

/// Reports that the current thread is about to delete a reference.
fn deleted(jni: Jni, kind: Kind, reference: jobject) {
    let announced = forget(reference);
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
                announce::send(jni, agent, &thread, free(kind), u);
            }
        }
    });
}

replaces! {
    pub fn replace: NewGlobalRef DeleteGlobalRef NewWeakGlobalRef DeleteWeakGlobalRef
}

/// Defines both functions for a kind of reference.
macro_rules! references {
    ($($kind:path: $new:ident by $new_by:ident, $delete:ident by $delete_by:ident;)*) => {$(
        with_return_address! {
            #[allow(non_snake_case)]
            fn $new(env: *mut JNIEnv, object: jobject) -> jobject => $new_by;
        }

        unsafe extern "system" fn $new_by(
            env: *mut JNIEnv,
            object: jobject,
            caller: usize,
        ) -> jobject {
            // SAFETY: the caller's arguments go to the function that they were meant for.
            let reference = unsafe { (originals().$new)(env, object) };
            if !reference.is_null() && !old_verifier::calls(caller) {
                // SAFETY: the environment is that of the thread that calls.
                guard((), || made(unsafe { Jni::new(env) }, $kind, object, reference));
            }
            reference
        }

        with_return_address! {
            #[allow(non_snake_case)]
            fn $delete(env: *mut JNIEnv, reference: jobject) -> () => $delete_by;
        }

        unsafe extern "system" fn $delete_by(env: *mut JNIEnv, reference: jobject, caller: usize) {
            if !reference.is_null() && !old_verifier::calls(caller) {
                // SAFETY: as above.
                guard((), || deleted(unsafe { Jni::new(env) }, $kind, reference));
            }
            // SAFETY: as above.
            unsafe { (originals().$delete)(env, reference) };
        }
    )*};
}

references! {
    Kind::Strong: NewGlobalRef by new_global_ref, DeleteGlobalRef by delete_global_ref;
    Kind::Weak: NewWeakGlobalRef by new_weak_global_ref, DeleteWeakGlobalRef by delete_weak_global_ref;
}
