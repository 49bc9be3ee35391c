//! Sends an event of the current thread, after the announcements that must precede it: an agent gets the event that
//! defines a class, thread, object or arena once, before anything else names it to the agent.
//!
//! An announcement is an event too. It follows those that [`before`] sends, and what it names itself is announced first:
//! a class names its superclass, an object its class and arena, and a thread its object.

use super::definitions::{self, ClassDefinition, ThreadDefinition};
use crate::classes::{self, Linking};
use crate::gc::{arenas, gate};
use crate::notify::{self, Delivery};
use crate::records::agents::{self, Agent};
use crate::records::announced::Sending;
use crate::records::class::{Class, Instances};
use crate::records::ids::{self, Tag};
use crate::sync::{announcements, tagging};
use crate::threads::{self, Thread};
use jni_sys::{jclass, jint, jlong, jobject};
use jvm::{Jni, Result};
use jvmpi_settings::ClassLoad;
use jvmpi_sys::*;
use std::ptr;
use std::sync::{Arc, OnceLock};

/// Sends the deferred entries of constructors.
pub static SEND_DEFERRED: OnceLock<fn(Jni, &Thread)> = OnceLock::new();

/// Sends the events that the agent must get before the event of the delivery, which is for the current thread.
#[inline]
fn before(jni: Jni, delivery: &Delivery<'_>, agent: &Agent) {
    let current = delivery.thread();
    if current.held.any()
        && let Some(send) = SEND_DEFERRED.get()
    {
        send(jni, current);
    }
    if delivery.event_type() != JVMPI_EVENT_THREAD_START {
        thread(jni, agent, current, current);
    }
}

/// Sends an event to every agent that has enabled it.
pub fn send_to_all<A: EventBody>(jni: Jni, thread: &Thread, event_type: jint, body: A) {
    if let Some(delivery) = Delivery::begin(thread, event_type) {
        for agent in delivery.agents().iter() {
            send_in(jni, &delivery, agent, body);
        }
    }
}

/// Sends an event to one agent, if it has enabled it and may get it now. Returns the event data, which the agent may
/// have changed.
#[inline]
pub fn send<A: EventBody>(
    jni: Jni,
    agent: &Agent,
    thread: &Thread,
    event_type: jint,
    body: A,
) -> A {
    match Delivery::begin_to(agent, thread, event_type) {
        Some(delivery) => send_in(jni, &delivery, agent, body),
        None => body,
    }
}

/// Sends the event of a delivery to one of its agents. Returns the event data, which the agent may have changed.
#[inline]
pub fn send_in<A: EventBody>(jni: Jni, delivery: &Delivery<'_>, agent: &Agent, body: A) -> A {
    before(jni, delivery, agent);
    delivery.send(agent, body)
}

/// Sends an event of the current thread about an object, after announcing the object. `body` builds the event
/// body for an agent from the object's ID. Returns false if an agent gets no event because the object is a
/// Class object that cannot be announced yet.
pub fn send_about<A: EventBody>(
    jni: Jni,
    thread: &Thread,
    event_type: jint,
    object: jobject,
    body: impl Fn(&Agent, jobjectID) -> A,
) -> bool {
    let Some(delivery) = Delivery::begin(thread, event_type) else { return true };
    let mut is_sent = true;
    for agent in delivery.agents().iter() {
        match self::object(jni, agent, thread, object, Linking::Boot) {
            Ok(id) if id.is_null() && !object.is_null() => is_sent = false,
            Ok(id) => thread.current_object.with(id, object, || {
                send_in(jni, &delivery, agent, body(agent, id));
            }),
            Err(error) => log::debug!("the object of an event is not announced: {error}"),
        }
    }
    is_sent
}

/// The way in which a CLASS_LOAD is sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ClassFor {
    /// For an event or a result. CLASS_LOAD belongs to the current thread, or to the thread that has loaded the class.
    /// The class is linked first if it is one of these.
    Event(Linking),
    /// For a dump. Agents that have ever enabled CLASS_LOAD look up their record of each class. An agent that would not
    /// get the event now gets it as if it had requested it. Array classes are exempt: no object in a dump names one as
    /// its class.
    Dump,
    /// For JVM_SHUT_DOWN. For agents the current thread has ended already, so the event names another one. No class is
    /// linked, and array classes are exempt.
    ShutDown,
}

impl ClassFor {
    /// For an event or a result while the thread may hold locks of the program's: no code of the program's is called.
    pub const EVENT: Self = Self::Event(Linking::Jdk);
}

/// Sends CLASS_LOAD to an agent that has enabled it and has not received it for this class. Returns true if the agent
/// knows the class afterwards, or need not. Returns false if the class cannot be linked yet.
#[inline]
pub fn class(jni: Jni, agent: &Agent, current: &Thread, class: &Class, purpose: ClassFor) -> bool {
    let is_wanted = match purpose {
        ClassFor::Dump => agent.has_wanted(JVMPI_EVENT_CLASS_LOAD),
        _ => agent.wants(JVMPI_EVENT_CLASS_LOAD),
    };
    !is_wanted || class.announced.to(agent) || class_now(jni, agent, current, class, purpose)
}

#[cold]
fn class_now(jni: Jni, agent: &Agent, current: &Thread, class: &Class, purpose: ClassFor) -> bool {
    let may_get = || notify::may_get(agent, current, JVMPI_EVENT_CLASS_LOAD);
    let sent_for = match purpose {
        // A class that cannot be announced now is announced when it is named next.
        ClassFor::Event(_) => may_get().then_some(purpose),
        ClassFor::Dump if may_get() => Some(ClassFor::EVENT),
        ClassFor::Dump | ClassFor::ShutDown => (!class.is_array()).then_some(purpose),
    };
    if let Some(sent_for) = sent_for {
        jni.frame(8, |jni| {
            if let Some(object) = class.object(jni) {
                define_class(jni, agent, current, class, object, sent_for);
            }
        });
    }
    !agent.wants(JVMPI_EVENT_CLASS_LOAD) || class.announced.has_begun(agent)
}

fn define_class(
    jni: Jni,
    agent: &Agent,
    current: &Thread,
    class: &Class,
    object: jclass,
    purpose: ClassFor,
) {
    if class.announced.to(agent) || class.is_own() {
        return;
    }
    jni.frame(8, |jni| {
        let superclass = jni.superclass(object);
        if !superclass.is_null()
            && let Ok(record) = classes::of(jni, superclass)
        {
            define_class(jni, agent, current, &record, superclass, purpose);
        }
    });
    let link = || match purpose {
        ClassFor::Event(linking) => classes::link_if(jni, object, linking),
        ClassFor::Dump => classes::link_if(jni, object, Linking::Jdk),
        ClassFor::ShutDown => false,
    };
    if !class.is_linked(object, link) {
        return;
    }
    let _passage = gate::enter(current);
    announcements::once(&class.announced, agent, |sending| {
        match jni.frame(32, |_| ClassDefinition::of(object)) {
            Ok(mut definition) => {
                let u = definition.event(agent, class);
                send_class(jni, agent, current, class, purpose, u, sending);
            }
            Err(error) => log::warn!(
                "class {:?} cannot be announced: {error}",
                class.name(agent.options().names)
            ),
        }
        true
    });
}

fn send_class(
    jni: Jni,
    agent: &Agent,
    current: &Thread,
    class: &Class,
    purpose: ClassFor,
    u: JVMPI_Event_class_load,
    sending: &Sending<'_>,
) {
    const TYPE: jint = JVMPI_EVENT_CLASS_LOAD;
    match purpose {
        ClassFor::Event(_) => {
            let Some(delivery) = Delivery::begin_to(agent, current, TYPE) else { return };
            before(jni, &delivery, agent);
            let loader = if agent.options().classload == ClassLoad::Load {
                definitions::loaded_by(class)
            } else {
                None
            };
            if let Some(loader) = &loader {
                thread(jni, agent, current, loader);
            }
            if sending.call() {
                let named = loader.as_deref().unwrap_or(current);
                delivery.send_as(agent, named.env(), TYPE, u);
            }
        }
        ClassFor::Dump => {
            if sending.call() {
                let _ = notify::request(agent, current, TYPE, u);
            }
        }
        ClassFor::ShutDown => {
            let named = threads::known_to(agent).map_or(current.env(), |named| named.env());
            if sending.call() {
                notify::deliver_for_vm(agent, current, (named, None), TYPE, u);
            }
        }
    }
}

/// Sends THREAD_START for `named` to an agent that has enabled the event and has not received it for this thread.
pub fn thread(jni: Jni, agent: &Agent, current: &Thread, named: &Thread) {
    if named.announced.to(agent) || named.is_hidden() || named.id().is_null() {
        return;
    }
    let delivery = Delivery::begin_to(agent, current, JVMPI_EVENT_THREAD_START);
    let Some(delivery) = delivery else { return };
    announcements::once(&named.announced, agent, |sending| {
        if let Some(known) = named.object() {
            // THREAD_START is sent even if the object could not be announced.
            let _ = object(jni, agent, current, known.get(), Linking::Jdk);
        }
        if let Some(definition) = jni.frame(16, |_| ThreadDefinition::of(named)) {
            before(jni, &delivery, agent);
            if sending.call() {
                delivery.send(agent, definition.event());
            }
        }
        true
    });
}

/// Sends THREAD_START to an agent as if it had requested it. Returns false if the thread is hidden from agents, or if
/// the thread or the VM has ended.
pub fn thread_as_requested(jni: Jni, agent: &Agent, current: &Thread, named: &Thread) -> bool {
    if named.is_hidden() || named.announced.is_withdrawn(agent) {
        return false;
    }
    let Some(definition) = jni.frame(16, |_| ThreadDefinition::of(named)) else { return false };
    named.announced.mark(agent);
    notify::request(agent, current, JVMPI_EVENT_THREAD_START, definition.event())
}

/// Sends ARENA_NEW to an agent that has enabled it and has not received it for this arena.
#[inline]
pub fn arena(jni: Jni, agent: &Agent, current: &Thread, arena: jint) {
    if agent.wants(JVMPI_EVENT_ARENA_NEW) && !arenas::announced(arena).to(agent) {
        arena_now(jni, agent, current, arena);
    }
}

#[cold]
fn arena_now(jni: Jni, agent: &Agent, current: &Thread, arena: jint) {
    if let Some(delivery) = Delivery::begin_to(agent, current, JVMPI_EVENT_ARENA_NEW) {
        before(jni, &delivery, agent);
        announcements::once(arenas::announced(arena), agent, |sending| {
            if sending.call() {
                delivery.send(agent, definitions::arena(arena));
            }
            true
        });
    }
}

/// Returns the agent if OBJECT_ALLOC would be sent to it now for every object that a dump names. If allocations are
/// sampled, the agent requests those that it needs.
pub fn listener<'a>(agent: &'a Agent, thread: &Thread) -> Option<&'a Agent> {
    if agents::are_sampled() {
        return None;
    }
    notify::may_get(agent, thread, JVMPI_EVENT_OBJECT_ALLOC).then_some(agent)
}

/// Sends OBJECT_ALLOC, or CLASS_LOAD for a Class object, to an agent that has enabled it and has not received it for
/// this object. Returns the object's ID. NULL for a Class object of a class that cannot be linked yet, and for an array
/// whose element class cannot.
pub fn object(
    jni: Jni,
    agent: &Agent,
    current: &Thread,
    object: jobject,
    linking: Linking,
) -> Result<jobjectID> {
    let tag = tagging::identify(object)?;
    if object.is_null() || !notify::reaches_agents(current, JVMPI_EVENT_OBJECT_ALLOC) {
        return Ok(tag.id());
    }
    let mut is_known = Ok(true);
    if tag.is_announced_to(agent) {
        announcements::wait_for_replay(agent);
    } else if let Some(known) = class_behind(jni, object, tag) {
        is_known = Ok(class(jni, agent, current, &known, ClassFor::Event(linking)));
    } else if let Some(delivery) = Delivery::begin_to(agent, current, JVMPI_EVENT_OBJECT_ALLOC) {
        announcements::of_object(agent, tag.id(), |sending| {
            is_known = jni.frame(8, |jni| define_object(jni, agent, &delivery, object, sending));
            is_known == Ok(true)
        });
    } else {
        tagging::update(object, |tag| tag.announced_to(agent))?;
    }
    is_known.map(|is_known| if is_known { tag.id() } else { ptr::null_mut() })
}

/// Sends OBJECT_ALLOC for an object, unless another thread has done so. Returns false if it cannot be sent yet. If
/// allocations are sampled, the event has the flag of a requested event, because the object is not a sample.
fn define_object(
    jni: Jni,
    agent: &Agent,
    delivery: &Delivery<'_>,
    object: jobject,
    sending: &Sending<'_>,
) -> Result<bool> {
    let current = delivery.thread();
    let tag = ids::tag(object)?;
    if tag.is_announced_to(agent) {
        return Ok(true);
    }
    let class = classes::of(jni, jni.class_of(object))?;
    if !elements(jni, agent, current, &class, Linking::Jdk) {
        return Ok(false);
    }
    let u = alloc_of(jni, agent, current, object, tag)?;
    current.current_object.with(tag.id(), object, || {
        before(jni, delivery, agent);
        if !sending.call() {
            // Another thread sends it.
            return Ok(true);
        }
        let flag = if agents::are_sampled() { JVMPI_REQUESTED_EVENT } else { 0 };
        delivery.send_as(agent, current.env(), JVMPI_EVENT_OBJECT_ALLOC | flag, u);
        tagging::update(object, |tag| tag.announced_to(agent)).map(|_| true)
    })
}

/// Returns the class that a Class object represents. None for other objects, and for Class objects of primitive types,
/// which no CLASS_LOAD defines.
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

/// Announces the class that OBJECT_ALLOC of an array of this class names. Returns false if the agent still does not know
/// that class.
pub fn elements(
    jni: Jni,
    agent: &Agent,
    current: &Thread,
    array: &Class,
    linking: Linking,
) -> bool {
    match array.instances() {
        Instances::References(Some(element)) => {
            class(jni, agent, current, element, ClassFor::Event(linking))
        }
        _ => true,
    }
}

/// Returns the OBJECT_ALLOC event for an object, after announcing its class and its arena.
pub fn alloc(
    jni: Jni,
    agent: &Agent,
    current: &Thread,
    of: &Class,
    tag: Tag,
    size: jlong,
) -> JVMPI_Event_obj_alloc {
    let known = |named: &Class| {
        class(jni, agent, current, named, ClassFor::EVENT);
        named.id()
    };
    let (is_array, class_id) = match of.instances() {
        Instances::Objects(_) | Instances::Classes => (JVMPI_NORMAL_OBJECT, known(of)),
        Instances::References(element) => {
            (JVMPI_CLASS, element.as_deref().map_or(ptr::null_mut(), known))
        }
        Instances::Primitives(element) => (*element, ptr::null_mut()),
    };
    let arena_id = arenas::of(tag, matches!(of.instances(), Instances::Classes));
    arena(jni, agent, current, arena_id);
    JVMPI_Event_obj_alloc {
        arena_id,
        class_id,
        is_array,
        size: jint::try_from(size).unwrap_or(jint::MAX),
        obj_id: tag.id(),
    }
}

/// Returns the OBJECT_ALLOC event for any object, which may be older than the shim.
pub fn alloc_of(
    jni: Jni,
    agent: &Agent,
    current: &Thread,
    object: jobject,
    tag: Tag,
) -> Result<JVMPI_Event_obj_alloc> {
    let size = jvm::get().jvmti.object_size(object)?;
    let class = jni.class_of(object);
    let mut u = classes::with(jni, class, |class| alloc(jni, agent, current, class, tag, size))?;
    if jni.same_object(class, object) {
        // The Class object of `java.lang.Class` has class ID NULL. Otherwise agents that resolve the class of
        // each class would never end.
        u.class_id = ptr::null_mut();
    }
    Ok(u)
}
