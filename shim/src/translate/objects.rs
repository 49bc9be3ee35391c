//! OBJECT_ALLOC for objects: at their allocation, before an event names them, and on request.

use super::callback::callback;
use super::{
    allocations, arenas as arena_events, classes as class_events, construction, send,
    threads as thread_events,
};
use crate::classes;
use crate::classes::Linking;
use crate::gc::{arenas, lookup};
use crate::jvm::{self, Jni, Result};
use crate::notify::{self, Delivery};
use crate::records::agents::{self, Agent};
use crate::records::class::{Class, Instances};
use crate::records::ids::Tag;
use crate::sync::announcements;
use crate::sync::tagging;
use crate::threads::{self, Thread};
use jni_sys::{JNIEnv, jclass, jint, jlong, jobject};
use jvmpi_jvmti_sys::{jthread, jvmtiEnv};
use jvmpi_sys::*;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub unsafe extern "system" fn sampled_object_alloc(
    _: *mut jvmtiEnv,
    env: *mut JNIEnv,
    _: jthread,
    object: jobject,
    class: jclass,
    size: jlong,
) {
    // SAFETY: JVMTI passes the environment of the thread that allocates and runs this.
    unsafe {
        callback(env, |jni| {
            let is_no_sample = &threads::current(jni).reports_at_once;
            if is_no_sample.load(Ordering::Relaxed) {
                is_no_sample.store(false, Ordering::Relaxed);
            } else {
                allocated(jni, object, class, Some(size));
            }
        });
    };
}

/// Announces the class that OBJECT_ALLOC of an array of this class names. Returns false if the agent still does
/// not know that class.
pub(super) fn knows_elements(
    jni: Jni,
    agent: &Agent,
    thread: &Thread,
    class: &Class,
    linking: Linking,
) -> bool {
    match class.instances() {
        Instances::References(Some(element)) => {
            class_events::make_known(jni, agent, thread, element, linking)
        }
        _ => true,
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
            delivery.retain(|agent| knows_elements(jni, agent, &thread, class, Linking::Jdk));
        }
        let agents = delivery.as_ref().map(Delivery::agents).unwrap_or_default();
        let tag = agents.iter().fold(tag, Tag::announced_to);
        jvm::get().jvmti.set_tag(object, tag.raw())?;
        let Some(delivery) = &delivery else { return Ok(()) };
        let size = size.map_or_else(|| class.size_of(object), Ok)?;
        thread.current_object.with(tag.id(), object, || {
            for agent in agents.iter() {
                let u = event(jni, agent, &thread, class, tag, size);
                send::with(jni, delivery, agent, u);
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
    let held = construction::held_of(jni, &thread, object);
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
    construction::send(jni, &thread, &held, object, INSIDE);
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

/// Returns the OBJECT_ALLOC event for an object, after announcing its class and its arena.
pub(super) fn event(
    jni: Jni,
    agent: &Agent,
    thread: &Thread,
    class: &Class,
    tag: Tag,
    size: jlong,
) -> JVMPI_Event_obj_alloc {
    let known = |class: &Class| {
        class_events::announce(jni, agent, thread, class);
        class.id()
    };
    let (is_array, class_id) = match class.instances() {
        Instances::Objects(_) | Instances::Classes => (JVMPI_NORMAL_OBJECT, known(class)),
        Instances::References(element) => {
            (JVMPI_CLASS, element.as_deref().map_or(ptr::null_mut(), known))
        }
        Instances::Primitives(element) => (*element, ptr::null_mut()),
    };
    let arena_id = arenas::of(tag, matches!(class.instances(), Instances::Classes));
    thread_events::announce(jni, agent, thread, thread);
    arena_events::announce(agent, thread, arena_id);
    JVMPI_Event_obj_alloc {
        arena_id,
        class_id,
        is_array,
        size: jint::try_from(size).unwrap_or(jint::MAX),
        obj_id: tag.id(),
    }
}

/// Returns the OBJECT_ALLOC event for any object, which may be older than the shim.
pub(super) fn event_of(
    jni: Jni,
    agent: &Agent,
    thread: &Thread,
    object: jobject,
    tag: Tag,
) -> Result<JVMPI_Event_obj_alloc> {
    let size = jvm::get().jvmti.object_size(object)?;
    let class = jni.class_of(object);
    let mut u = classes::with(jni, class, |class| event(jni, agent, thread, class, tag, size))?;
    if jni.same_object(class, object) {
        // The Class object of `java.lang.Class` has class ID NULL. Otherwise agents that resolve the class of
        // each class would never end.
        u.class_id = ptr::null_mut();
    }
    Ok(u)
}

/// Returns the object's ID if the object is announced to the agent, NULL for NULL, and None otherwise.
#[inline]
pub fn known_to(agent: &Agent, object: jobject) -> Option<jobjectID> {
    let tag = tagging::tag(object).ok()?;
    let is_known = || tag.is_announced_to(agent) && !announcements::is_replaying(agent);
    (object.is_null() || is_known()).then(|| tag.id())
}

/// Returns the same as [`known_to`], for an object that this thread calls a method on. The thread caches the
/// IDs of such objects for one `epoch`. `object` must be a local reference.
#[inline]
pub fn receiver_known_to(
    agent: &Agent,
    thread: &Thread,
    object: jobject,
    epoch: u64,
) -> Option<jobjectID> {
    // Virtual threads have no such cache: there may be a million of them.
    if object.is_null() || thread.is_virtual() || announcements::is_replaying(agent) {
        return known_to(agent, object);
    }
    thread.receivers.id(object, epoch, || known_to(agent, object))
}

/// Announces an object that a result is about to name, unless the agent knows it. Returns its ID. A Class
/// object is announced by CLASS_LOAD.
pub fn announce(jni: Jni, agent: &Agent, thread: &Thread, object: jobject) -> Result<jobjectID> {
    make_known(jni, agent, thread, object, Linking::Jdk).map(|(id, _)| id)
}

/// Announces an object that an event names, which may happen anywhere in the program. Returns its ID, or NULL
/// if it cannot be announced yet: a Class object of a class that is not linked, or an array whose element class
/// is not.
pub fn announce_if_possible(
    jni: Jni,
    agent: &Agent,
    thread: &Thread,
    object: jobject,
) -> Result<jobjectID> {
    let (id, is_known) = make_known(jni, agent, thread, object, Linking::Boot)?;
    Ok(if is_known { id } else { ptr::null_mut() })
}

/// Announces an object, unless the agent knows it. Returns its ID, and true if the agent knows it now.
fn make_known(
    jni: Jni,
    agent: &Agent,
    thread: &Thread,
    object: jobject,
    linking: Linking,
) -> Result<(jobjectID, bool)> {
    let tag = tagging::identify(object)?;
    let is_open = notify::reaches_agents(thread, JVMPI_EVENT_OBJECT_ALLOC);
    let mut is_known = Ok(true);
    if object.is_null() || !is_open {
        return Ok((tag.id(), true));
    }
    if tag.is_announced_to(agent) {
        announcements::wait_for_replay(agent);
    } else if let Some(class) = class_behind(jni, object, tag) {
        is_known = Ok(class_events::make_known(jni, agent, thread, &class, linking));
    } else if let Some(delivery) = Delivery::begin_to(agent, thread, JVMPI_EVENT_OBJECT_ALLOC) {
        announcements::of_object(agent, tag.id(), || {
            is_known = jni.frame(8, |jni| announce_now(jni, agent, &delivery, object));
        });
    } else {
        tagging::update(object, |tag| tag.announced_to(agent))?;
    }
    is_known.map(|is_known| (tag.id(), is_known))
}

/// Sends OBJECT_ALLOC for an object, unless another thread has done so. Returns false if it cannot be sent yet. If
/// allocations are sampled, the event has the flag of a requested event, because the object is not a sample.
fn announce_now(jni: Jni, agent: &Agent, delivery: &Delivery<'_>, object: jobject) -> Result<bool> {
    let thread = delivery.thread();
    let tag = tagging::tag(object)?;
    if tag.is_announced_to(agent) {
        return Ok(true);
    }
    let class = classes::of(jni, jni.class_of(object))?;
    if !knows_elements(jni, agent, thread, &class, Linking::Jdk) {
        return Ok(false);
    }
    let u = event_of(jni, agent, thread, object, tag)?;
    thread.current_object.with(tag.id(), object, || {
        if allocations::are_sampled() {
            send::as_requested(jni, delivery, agent, u);
        } else {
            send::with(jni, delivery, agent, u);
        }
    });
    tagging::update(object, |tag| tag.announced_to(agent)).map(|_| true)
}

/// Sends an event of the current thread about an object, after announcing the object. `body` builds the event
/// body for an agent from the object's ID. Returns false if an agent gets no event because the object is a
/// Class object that cannot be announced yet.
pub fn post_about<A: EventBody>(
    jni: Jni,
    thread: &Thread,
    event_type: jint,
    object: jobject,
    body: impl Fn(&Agent, jobjectID) -> A,
) -> bool {
    let Some(delivery) = Delivery::begin(thread, event_type) else { return true };
    let mut is_sent = true;
    for agent in delivery.agents().iter() {
        match announce_if_possible(jni, agent, thread, object) {
            Ok(id) if id.is_null() && !object.is_null() => is_sent = false,
            Ok(id) => thread.current_object.with(id, object, || {
                send::with(jni, &delivery, agent, body(agent, id));
            }),
            Err(error) => log::debug!("the object of an event is not announced: {error}"),
        }
    }
    is_sent
}

/// Returns the class that a Class object represents. None for other objects, and for Class objects of primitive
/// types, which no CLASS_LOAD defines.
fn class_behind(jni: Jni, object: jobject, tag: Tag) -> Option<Arc<Class>> {
    if let Some(known) = classes::by_id(tag.id()) {
        return Some(known);
    }
    jni.frame(8, |jni| {
        let is_class = |class: &Class| matches!(class.instances(), Instances::Classes);
        let is_class = classes::with(jni, jni.class_of(object), is_class).ok()?;
        if is_class { classes::of(jni, object).ok() } else { None }
    })
}

/// Answers RequestEvent(OBJECT_ALLOC). Returns false if the ID is not that of a live object.
pub fn request(jni: Jni, agent: &Agent, thread: &Thread, id: jobjectID) -> bool {
    let requested = jni.frame(16, |jni| {
        let object = lookup::object(jni, id)?;
        let tag = tagging::update(object, |tag| tag.announced_to(agent)).ok()?;
        let u = event_of(jni, agent, thread, object, tag).ok()?;
        Some(
            thread
                .current_object
                .with(id, object, || notify::request(agent, thread, JVMPI_EVENT_OBJECT_ALLOC, u)),
        )
    });
    requested.unwrap_or(false)
}
