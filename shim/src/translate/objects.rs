//! OBJECT_ALLOC.

use super::classes as class_events;
use crate::jvm::{self, Jni, Result};
use crate::notify;
use crate::world::agents::Agent;
use crate::world::threads::Thread;
use crate::world::{classes, ids};
use jni_sys::{jclass, jint, jobject};
use jvmpi_sys::*;
use std::ptr;

/// The one arena: objects do not move as agents see them.
const ARENA: jint = 1;

/// RequestEvent(OBJECT_ALLOC): false if the ID is not that of a live object.
pub fn request(jni: Jni, agent: &Agent, thread: &Thread, id: jobjectID) -> bool {
    jni.frame(16, |jni| {
        let Some(object) = ids::object(jni, id) else { return false };
        let Ok(kind) = Kind::of(jni, object) else { return false };
        let Ok(size) = jvm::get().jvmti.object_size(object) else { return false };
        let class_id = kind.class_id(jni, agent, thread, object);
        let obj_alloc = JVMPI_Event_obj_alloc {
            arena_id: ARENA,
            class_id,
            is_array: kind.is_array,
            size: jint::try_from(size).unwrap_or(jint::MAX),
            obj_id: id,
        };
        notify::request(agent, thread, JVMPI_EVENT_OBJECT_ALLOC, JVMPI_Event_u { obj_alloc });
        true
    })
}

/// What an object is, as OBJECT_ALLOC tells it.
struct Kind {
    is_array: jint,
    /// The class of a plain object, the element class of a reference array, else NULL.
    class: jclass,
}

impl Kind {
    fn of(jni: Jni, object: jobject) -> Result<Self> {
        let class = jni.class_of(object);
        let signature = jvm::get().jvmti.class_signature(class)?;
        let kind = match signature.to_bytes() {
            [b'[', b'L' | b'[', ..] => {
                Self { is_array: JVMPI_CLASS, class: class_events::component(jni, class) }
            }
            [b'[', element] => Self { is_array: primitive(*element), class: ptr::null_mut() },
            _ => Self { is_array: JVMPI_NORMAL_OBJECT, class },
        };
        Ok(kind)
    }

    /// The class's ID, of which the agent has heard. NULL for the Class object of
    /// `java.lang.Class`: agents that resolve the class of each class would never end.
    fn class_id(&self, jni: Jni, agent: &Agent, thread: &Thread, object: jobject) -> jobjectID {
        if self.class.is_null() || jni.same_object(self.class, object) {
            return ptr::null_mut();
        }
        let Ok(class) = classes::of(jni, self.class) else { return ptr::null_mut() };
        class_events::announce(jni, agent, thread, &class);
        class.id()
    }
}

/// The `is_array` code for the element type of a descriptor.
fn primitive(descriptor: u8) -> jint {
    match descriptor {
        b'Z' => JVMPI_BOOLEAN,
        b'C' => JVMPI_CHAR,
        b'F' => JVMPI_FLOAT,
        b'D' => JVMPI_DOUBLE,
        b'B' => JVMPI_BYTE,
        b'S' => JVMPI_SHORT,
        b'I' => JVMPI_INT,
        _ => JVMPI_LONG,
    }
}
