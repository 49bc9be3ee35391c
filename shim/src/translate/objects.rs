//! OBJECT_ALLOC for objects: at their allocation, before an event names them, and on request.

use super::{allocations, announce, entries};
use crate::classes::{self, Linking};
use crate::gc::lookup;
use crate::notify::{self, Delivery};
use crate::records::agents::{self, Agent};
use crate::records::class::Instances;
use crate::records::ids::Tag;
use crate::sync::tagging;
use crate::threads::{self, Thread};
use jni_sys::{jclass, jlong, jobject};
use jvm::Jni;
use jvm::types::jthread;
use jvmpi_sys::*;
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
        let has_id = || tagging::tag(object) != Ok(Tag::NONE);
        let report = || {
            if !thread.unconstructed.is_one(has_id) {
                announce_new(jni, object);
            }
        };
        match held.numbers().len() {
            0 => thread.in_flight.while_constructing(report),
            count => thread.in_flight.while_hiding(INSIDE + count, report),
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
        && tagging::tag(object) == Ok(Tag::NONE);
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
