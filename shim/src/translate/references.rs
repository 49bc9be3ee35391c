//! JNI_GLOBALREF_ALLOC and FREE, JNI_WEAK_GLOBALREF_ALLOC and FREE.

use super::objects;
use crate::jvm::Jni;
use crate::notify;
use crate::world::threads;
use crate::world::{agents, gate, references};
use jni_sys::{jint, jobject};
use jvmpi_sys::{
    JVMPI_EVENT_JNI_GLOBALREF_ALLOC, JVMPI_EVENT_JNI_GLOBALREF_FREE,
    JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC, JVMPI_EVENT_JNI_WEAK_GLOBALREF_FREE,
    JVMPI_Event_jni_globalref_alloc, JVMPI_Event_jni_globalref_free,
};

/// A kind of global references.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Its object lives as long as it does.
    Strong,
    Weak,
}

impl Kind {
    fn alloc(self) -> jint {
        match self {
            Self::Strong => JVMPI_EVENT_JNI_GLOBALREF_ALLOC,
            Self::Weak => JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC,
        }
    }

    fn free(self) -> jint {
        match self {
            Self::Strong => JVMPI_EVENT_JNI_GLOBALREF_FREE,
            Self::Weak => JVMPI_EVENT_JNI_WEAK_GLOBALREF_FREE,
        }
    }
}

/// Whether any agent wants to hear of references.
pub fn are_wanted() -> bool {
    let kinds = [Kind::Strong, Kind::Weak];
    kinds.iter().any(|k| agents::anyone_wants(k.alloc()) || agents::anyone_wants(k.free()))
}

/// The thread that runs has made a reference to the object.
pub fn made(jni: Jni, kind: Kind, object: jobject, reference: jobject) {
    let thread = threads::current(jni);
    if !agents::anyone_wants(kind.alloc()) || !notify::is_reported(&thread) {
        return;
    }
    jni.frame(8, |jni| {
        // The ID must not change before the event.
        let _passage = gate::enter(&thread);
        for agent in agents::wanting(kind.alloc()) {
            match objects::introduce(jni, agent, &thread, object) {
                Ok(obj_id) => thread.subject.with(obj_id, object, || {
                    references::tell(reference, agent);
                    let u = JVMPI_Event_jni_globalref_alloc { obj_id, ref_id: reference };
                    notify::deliver(jni, agent, &thread, kind.alloc(), u);
                }),
                Err(error) => log::debug!("a reference's object stays unknown: {error}"),
            }
        }
    });
}

/// The thread that runs is about to delete a reference.
pub fn deleted(jni: Jni, kind: Kind, reference: jobject) {
    let told = references::forget(reference);
    let thread = threads::current(jni);
    if !agents::anyone_wants(kind.free()) || !notify::is_reported(&thread) {
        return;
    }
    jni.frame(8, |jni| {
        let u = JVMPI_Event_jni_globalref_free { ref_id: reference };
        for agent in agents::wanting(kind.free()) {
            // An agent that hears of new references hears of the end of those.
            if told.includes(agent) || !agent.wants(kind.alloc()) {
                notify::deliver(jni, agent, &thread, kind.free(), u);
            }
        }
    });
}
