//! OBJECT_ALLOC for objects that a heap walk finds.

use super::{allocations, announce};
use crate::classes::{self, Linking};
use crate::gc::{gate, heap_walk, lookup};
use crate::notify;
use crate::records::agents::Agent;
use crate::records::class::Instances;
use crate::records::ids::{self, Tag};
use crate::sync::announcements::Replay;
use crate::sync::{bounded_wait, tagging};
use crate::threads::{self, Thread};
use jni_sys::jlong;
use jvm::heap::{Edge, Next, Object, Referrer, Visitor};
use jvm::{Jni, Result};
use jvmpi_sys::*;
use std::ptr;

/// Sends OBJECT_ALLOC for every object in the heap that is not announced to the agent. Sends none if allocations are
/// sampled: existing objects are not samples.
pub fn replay(jni: Jni, agent: &Agent, thread: &Thread) {
    if allocations::are_sampled() {
        return;
    }
    let class_of_classes = match identify_all_classes(jni) {
        Ok(id) => id,
        Err(error) => return log::warn!("existing objects are not announced: {error}"),
    };
    // An object that was found must not be reported as freed before it is announced.
    let _no_gc = gate::NoGc::begin();
    let _replay = Replay::begin(agent);
    let found = find_unknown(jni, agent, thread, class_of_classes);
    announce_found(jni, agent, thread, &found);
}

/// Returns the agent if OBJECT_ALLOC would be sent to it now for every object that a dump names. If allocations are
/// sampled, the agent requests those that it needs.
pub fn listener<'a>(agent: &'a Agent, thread: &Thread) -> Option<&'a Agent> {
    if allocations::are_sampled() {
        return None;
    }
    notify::may_get(agent, thread, JVMPI_EVENT_OBJECT_ALLOC).then_some(agent)
}

/// An object that a heap walk has found and that is to be announced to an agent.
pub struct Unannounced {
    pub class: jobjectID,
    /// The object's tag, which already marks the object as announced.
    pub tag: Tag,
    pub size: jlong,
}

/// Sends OBJECT_ALLOC for objects that a heap walk has found.
pub fn announce_found(jni: Jni, agent: &Agent, thread: &Thread, objects: &[Unannounced]) {
    for object in objects {
        let u = match classes::by_id(object.class) {
            Some(class) if !announce::elements(jni, agent, thread, &class, Linking::Any) => {
                take_back(jni, agent, object.tag);
                None
            }
            Some(class) => {
                Some(announce::alloc(jni, agent, thread, &class, object.tag, object.size))
            }
            // The class was loaded after all others were identified.
            None => jni.frame(16, |jni| {
                let found = lookup::object(jni, object.tag.id())?;
                announce::alloc_of(jni, agent, thread, found, object.tag).ok()
            }),
        };
        if let Some(u) = u {
            announce::send(jni, agent, thread, JVMPI_EVENT_OBJECT_ALLOC, u);
        }
        bounded_wait::count_step();
    }
}

/// Unmarks an object that was found but cannot be announced: an array whose element class cannot be
/// linked.
fn take_back(jni: Jni, agent: &Agent, tag: Tag) {
    jni.frame(4, |jni| {
        let found = lookup::object(jni, tag.id())?;
        tagging::update(found, |tag| tag.not_announced_to(agent)).ok()
    });
}

/// Tags all classes, because the heap walk identifies classes by their tags only. Returns the ID of
/// `java.lang.Class`.
fn identify_all_classes(jni: Jni) -> Result<jobjectID> {
    let all = classes::all_loaded(jni)?;
    let class_of_classes = all.iter().find(|c| matches!(c.instances(), Instances::Classes));
    Ok(class_of_classes.map_or(ptr::null_mut(), |class| class.id()))
}

/// Finds the reachable objects that are not announced to an agent. A walk of the whole heap would show
/// the unused parts of TLABs as dead arrays, and their tags would pass to the next objects allocated
/// there.
struct Unknown<'a> {
    agent: &'a Agent,
    class_of_classes: jobjectID,
    found: Vec<Unannounced>,
}

impl Visitor for Unknown<'_> {
    fn reference(&mut self, _: Edge, object: Object, raw: &mut jlong, _: Option<Referrer>) -> Next {
        let class = Tag::from_raw(object.class).id();
        let mut tag = Tag::from_raw(*raw);
        let is_own = tag == Tag::OWN || threads::is_hidden_object(tag.id());
        // A Class object is defined by CLASS_LOAD.
        if !is_own && !tag.is_announced_to(self.agent) && class != self.class_of_classes {
            if tag == Tag::NONE {
                let Ok(fresh) = ids::fresh() else { return Next::Follow };
                tag = fresh;
            }
            tag = tag.announced_to(self.agent);
            *raw = tag.raw();
            self.found.push(Unannounced { class, tag, size: object.size });
        }
        Next::Follow
    }
}

fn find_unknown(
    jni: Jni,
    agent: &Agent,
    thread: &Thread,
    class_of_classes: jobjectID,
) -> Vec<Unannounced> {
    let mut unknown = Unknown { agent, class_of_classes, found: Vec::new() };
    // Objects that were found before an error are already marked as announced.
    if let Err(error) = heap_walk::from_roots(jni, thread, jvm::get().jvmti, &mut unknown) {
        log::warn!("existing objects are not announced: {error}");
    }
    unknown.found
}
