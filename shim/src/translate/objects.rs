//! OBJECT_ALLOC for objects: at their allocation, before an event names them, on request, and when a heap walk finds them.

use super::{allocations, announce, entries};
use crate::classes::{self, Linking};
use crate::gc::{gate, heap_walk, lookup};
use crate::notify::{self, Delivery};
use crate::records::agents::{self, Agent};
use crate::records::announced::Replay;
use crate::records::class::{Class, Instances};
use crate::records::ids::{self, Tag};
use crate::records::in_flight::Reporter;
use crate::sync::{bounded_wait, tagging};
use crate::threads::{self, Thread};
use jni_sys::{jclass, jlong, jobject};
use jvm::Jni;
use jvm::heap::{Edge, Next, Object, Referrer, Visitor};
use jvm::types::jthread;
use jvmpi_sys::*;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

jvm::callbacks! {
    pub fn sampled_object_alloc(_thread: jthread, object: jobject, class: jclass, size: jlong) => sampled;
}

fn sampled(jni: Jni, _: jthread, object: jobject, class: jclass, size: jlong) {
    let is_no_sample = &threads::current(jni).reports_at_once;
    if is_no_sample.load(Ordering::Relaxed) {
        is_no_sample.store(false, Ordering::Relaxed);
    } else {
        allocated(jni, object, class, Some(size));
    }
}

/// Gives an object that the current thread has allocated its ID and announces it.
fn allocated(jni: Jni, object: jobject, class: jclass, size: Option<jlong>) {
    let thread = threads::current(jni);
    if thread.own_work.needs_no_ids() {
        return;
    }
    let is_own = thread.is_internal();
    // An object that cannot be announced now is announced when an event names it.
    let mut delivery =
        if is_own { None } else { Delivery::begin(&thread, JVMPI_EVENT_OBJECT_ALLOC) };
    let announced = classes::with(jni, class, |class| {
        // A Class object is defined by CLASS_LOAD.
        if matches!(class.instances(), Instances::Classes) {
            return Ok(());
        }
        let tag = if is_own { Tag::OWN } else { thread.new_ids.fresh()? };
        if let Some(delivery) = &mut delivery {
            delivery.retain(|agent| announce::elements(jni, agent, &thread, class, Linking::Jdk));
        }
        let agents = delivery.as_ref().map(Delivery::agents).unwrap_or_default();
        let tag = agents.iter().fold(tag, Tag::announced_to);
        jvm::get().jvmti.set_tag(object, tag.raw())?;
        let Some(delivery) = &delivery else { return Ok(()) };
        let size = size.map_or_else(|| class.size_of(object), Ok)?;
        thread.current_object.with(tag.id(), object, || {
            for agent in agents.iter() {
                let u = announce::alloc(jni, agent, &thread, class, tag, size);
                announce::send_in(jni, delivery, agent, u);
            }
        });
        Ok(())
    });
    if let Err::<(), _>(error) = announced.flatten() {
        log::debug!("an object is not announced: {error}");
    }
}

/// Handles the call of `Object`'s constructor for an object, reported by rewritten code.
pub fn constructed(jni: Jni, object: jobject) {
    let thread = threads::current(jni);
    let held = entries::held_of(jni, &thread, object);
    // The innermost frames, inside the held constructors: `Object`'s constructor and the Tracker's method.
    const INSIDE: usize = 2;
    if allocations::by_bytecode() {
        let has_id = || ids::tag(object) != Ok(Tag::NONE);
        let report = || {
            if !thread.unconstructed.is_one(has_id) {
                announce_new(jni, object);
            }
        };
        match held.numbers().len() {
            0 => thread.in_flight.reported(Reporter::Constructors, report),
            count => thread.in_flight.reported(Reporter::Frames(INSIDE + count), report),
        }
    }
    entries::send_chain(jni, &thread, &held, object, INSIDE);
}

/// Handles an object that rewritten code has obtained without running a constructor. One may run later.
pub fn unconstructed(jni: Jni, object: jobject) {
    seen(jni, object);
    threads::current(jni).unconstructed.add();
}

/// Handles an object that rewritten code has created.
pub fn made(jni: Jni, object: jobject) {
    threads::current(jni).in_flight.while_tracking(|| announce_new(jni, object));
}

fn announce_new(jni: Jni, object: jobject) {
    let is_reported = !threads::current(jni).transition.is_under_way();
    if is_reported && agents::anyone_wants(JVMPI_EVENT_OBJECT_ALLOC) {
        let class = jni.class_of(object);
        allocated(jni, object, class, None);
        jni.delete_local(class);
    }
}

/// Handles an array that rewritten code has created, and its elements that are arrays.
pub fn made_with_elements(jni: Jni, array: jobject) {
    seen(jni, array);
    let class = jni.class_of(array);
    let holds_references =
        classes::with(jni, class, |class| matches!(class.instances(), Instances::References(_)));
    jni.delete_local(class);
    if holds_references != Ok(true) {
        return;
    }
    for index in 0..jni.array_length(array) {
        let element = jni.array_element(array, index);
        if element.is_null() {
            // Only the dimensions up to this one were given a size.
            return;
        }
        made_with_elements(jni, element);
        jni.delete_local(element);
    }
}

/// Handles an object that rewritten code has obtained and that may be new.
pub fn seen(jni: Jni, object: jobject) {
    let is_new = agents::anyone_wants(JVMPI_EVENT_OBJECT_ALLOC)
        && !object.is_null()
        && ids::tag(object) == Ok(Tag::NONE);
    if is_new {
        made(jni, object);
    }
}

/// Handles a string that was returned and that may be new, and the array that holds its characters.
pub fn seen_string(jni: Jni, string: jobject) {
    seen(jni, string);
    jni.frame(4, |jni| {
        if let Some(field) = jni.field(jni.class_of(string), c"value", c"[B") {
            seen(jni, jni.object_field(string, field));
        }
    });
}

/// Answers RequestEvent(OBJECT_ALLOC). Returns false if the ID is not that of a live object.
pub fn request(jni: Jni, agent: &Agent, thread: &Thread, id: jobjectID) -> bool {
    let requested = jni.frame(16, |jni| {
        let object = lookup::object(jni, id)?;
        let tag = tagging::update(object, |tag| tag.announced_to(agent)).ok()?;
        let u = announce::alloc_of(jni, agent, thread, object, tag).ok()?;
        announce::thread(jni, agent, thread, thread);
        Some(
            thread
                .current_object
                .with(id, object, || notify::request(agent, thread, JVMPI_EVENT_OBJECT_ALLOC, u)),
        )
    });
    requested.unwrap_or(false)
}

/// Sends OBJECT_ALLOC for every object in the heap that is not announced to the agent. Sends none if allocations are
/// sampled: existing objects are not samples.
pub fn replay(jni: Jni, agent: &Agent, thread: &Thread) {
    if agents::are_sampled() {
        return;
    }
    // The heap walk identifies classes by their tags.
    let classes = match classes::all_loaded(jni) {
        Ok(classes) => classes,
        Err(error) => return log::warn!("existing objects are not announced: {error}"),
    };
    let is_of_classes = |class: &&Arc<Class>| matches!(class.instances(), Instances::Classes);
    let class_of_classes =
        classes.iter().find(is_of_classes).map_or(ptr::null_mut(), |class| class.id());
    // An object that was found must not be reported as freed before it is announced.
    let _no_gc = gate::without_gc();
    let _replay = Replay::begin(agent);
    let mut unknown = Unknown { agent, class_of_classes, found: Vec::new() };
    // Objects that were found before an error are already marked as announced.
    if let Err(error) = heap_walk::from_roots(jni, thread, jvm::get().jvmti, &mut unknown) {
        log::warn!("existing objects are not announced: {error}");
    }
    for object in &unknown.found {
        announce_found(jni, agent, thread, object);
    }
}

/// An object that a heap walk has found and that is to be announced to an agent.
pub struct Unannounced {
    pub class: jobjectID,
    /// The object's tag, which already marks the object as announced.
    pub tag: Tag,
    pub size: jlong,
}

/// Sends OBJECT_ALLOC for an object that a heap walk has found.
pub fn announce_found(jni: Jni, agent: &Agent, thread: &Thread, object: &Unannounced) {
    let u = match classes::by_id(object.class) {
        Some(class) if !announce::elements(jni, agent, thread, &class, Linking::Any) => {
            take_back(jni, agent, object.tag);
            None
        }
        Some(class) => Some(announce::alloc(jni, agent, thread, &class, object.tag, object.size)),
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

/// Unmarks an object that was found but cannot be announced: an array whose element class cannot be
/// linked.
fn take_back(jni: Jni, agent: &Agent, tag: Tag) {
    jni.frame(4, |jni| {
        let found = lookup::object(jni, tag.id())?;
        tagging::update(found, |tag| tag.not_announced_to(agent)).ok()
    });
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
