//! OBJECT_DUMP.

use super::classes as class_events;
use super::objects;
use crate::jvm::{self, Jni};
use crate::notify;
use crate::world::agents::Agent;
use crate::world::claims;
use crate::world::classes::{self, Class};
use crate::world::gate::NoGc;
use crate::world::heap::Untold;
use crate::world::heap::layout::{self, Layout};
use crate::world::heap::walk::{One, Surroundings, Walk};
use crate::world::ids;
use crate::world::introductions::Replay;
use crate::world::threads::Thread;
use dump::{Buffer, Level};
use jni_sys::{jclass, jint, jobject};
use jvmpi_sys::{JVMPI_EVENT_OBJECT_DUMP, JVMPI_Event_object_dump, jobjectID};
use jvmti_sys::JVMTI_CLASS_STATUS_PRIMITIVE;
use std::collections::HashMap;
use std::sync::Arc;

/// RequestEvent(OBJECT_DUMP): false if the ID is not that of a live object, or its dump could not be
/// made. The dump is the record that a heap dump of level 2 would have of the object.
pub fn request(jni: Jni, agent: &Agent, thread: &Thread, id: jobjectID) -> bool {
    let _no_gc = NoGc::begin();
    let _replay = Replay::begin(agent);
    let mut untold = Vec::new();
    let made = jni.frame(32, |jni| {
        let object = ids::object(jni, id)?;
        Some(make(jni, agent, thread, object, id, &mut untold))
    });
    objects::tell(jni, agent, thread, &untold);
    let mut bytes = match made {
        None => return false,
        Some(Ok(bytes)) => bytes,
        Some(Err(reason)) => {
            log::warn!("no object dump: {reason}");
            return false;
        }
    };
    let object_dump = JVMPI_Event_object_dump {
        data_len: jint::try_from(bytes.len()).unwrap_or(jint::MAX),
        data: bytes.as_mut_ptr().cast(),
    };
    notify::request(agent, thread, JVMPI_EVENT_OBJECT_DUMP, object_dump);
    true
}

fn make(
    jni: Jni,
    agent: &Agent,
    thread: &Thread,
    object: jobject,
    id: jobjectID,
    untold: &mut Vec<Untold>,
) -> Result<Buffer, String> {
    let failed = |error: jvm::Error| error.to_string();
    let class_object = jni.class_of(object);
    let class = classes::of(jni, class_object).map_err(failed)?;
    let mut known = vec![readable(jni, class, class_object)?];
    let meta = jni.class_of(class_object);
    let is_class = jni.same_object(class_object, meta);
    let mut one = One::Instance;
    if is_class {
        one = One::Class;
        let is_primitive = |object| {
            let status = jvm::get().jvmti.class_status(object);
            status.is_ok_and(|status| status & JVMTI_CLASS_STATUS_PRIMITIVE as jint != 0)
        };
        if !is_primitive(object) && !jni.same_object(object, meta) {
            let class = classes::of(jni, object).map_err(failed)?;
            known.push(readable(jni, class, object)?);
        }
    } else {
        let meta_class = classes::of(jni, meta).map_err(failed)?;
        known.push((meta_class, None));
        if !matches!(known[0].1.as_ref().map(|l| &l.objects), Some(layout::Objects::Instances(_))) {
            one = One::Array(jni.array_length(object) as u32);
        }
    }
    let needs_walk = !is_class || known.last().is_some_and(|(_, layout)| has_more(layout));
    let surroundings = Surroundings {
        level: Level::Values,
        classes: known,
        threads: HashMap::new(),
        hidden: crate::world::threads::hidden_objects(),
        own_references: HashMap::new(),
        global_references: HashMap::new(),
        held: None,
        listener: objects::listener(agent, thread),
    };
    let buffer = Buffer::new().map_err(|full| full.to_string())?;
    let mut walk = Walk::new(buffer, surroundings).of_one(id.addr(), one);
    if needs_walk {
        let _claim = claims::to_tag();
        let followed = jvm::get().jvmti.follow_references(Some(object), &mut walk);
        untold.append(&mut walk.untold);
        if let Some(failure) = walk.failure() {
            return Err(failure.to_string());
        }
        followed.map_err(failed)?;
    }
    walk.finish(|_| true).map_err(|failure| failure.to_string())
}

/// The class with its layout; it is linked if it was not.
pub fn readable(
    jni: Jni,
    class: Arc<Class>,
    object: jclass,
) -> Result<(Arc<Class>, Option<Arc<Layout>>), String> {
    if class.layout.get().is_none() && !classes::is_ready(object) {
        class_events::link(jni, object);
    }
    let layout = layout::of(jni, &class, object).map_err(|error| {
        let name = class.name(crate::options::Names::Dot);
        format!("class {name:?} cannot be read: {error}")
    })?;
    Ok((class, Some(layout)))
}

/// Whether a walk may tell more of a class than its layout does. Those of the boot loader have neither
/// signers nor a protection domain.
fn has_more(layout: &Option<Arc<Layout>>) -> bool {
    layout
        .as_ref()
        .is_some_and(|layout| layout.loader != 0 || layout.statics.length(Level::Values) > 0)
}
