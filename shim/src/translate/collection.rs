//! GC_START, OBJECT_FREE, OBJECT_MOVE, CLASS_UNLOAD, ARENA_NEW, ARENA_DELETE and GC_FINISH.

use super::{allocations, definitions};
use crate::classes::{self, method_classes, method_numbers, methods};
use crate::gc::arenas::{self, Changes, Move};
use crate::gc::{deaths, gate, lookup};
use crate::notify;
use crate::records::agents::{self, Agent};
use crate::records::class::Class;
use crate::records::ids::{self, Tag};
use crate::records::native_methods;
use crate::records::pauses::{self, Pauses};
use crate::sync::{announcements, bounded_wait};
use crate::threads::agent_clock::ShownClock;
use crate::threads::{self, Thread};
use jni_sys::{jint, jlong};
use jvm::Jni;
use jvm::types::jvmtiEnv;
use jvmpi_settings::Unload;
use jvmpi_sys::*;
use std::sync::Arc;

pub unsafe extern "system" fn garbage_collection_start(_: *mut jvmtiEnv) {
    // Nothing in here can panic.
    pauses::begin();
    deaths::pause_begins();
}

pub unsafe extern "system" fn garbage_collection_finish(_: *mut jvmtiEnv) {
    // Nothing in here can panic.
    pauses::end();
    deaths::pause_ended();
}

pub unsafe extern "system" fn object_free(_: *mut jvmtiEnv, tag: jlong) {
    deaths::object_died(tag);
}

pub unsafe extern "system" fn class_tag_free(_: *mut jvmtiEnv, tag: jlong) {
    deaths::class_tag_died(tag);
}

/// An agent that gets the GC events, and the thread that these events name.
struct Listener {
    agent: &'static Agent,
    named: Arc<Thread>,
    clock: ShownClock,
}

impl Listener {
    fn of(agent: &'static Agent, pauses: Pauses) -> Option<Self> {
        let named = threads::known_to(agent)?;
        let clock = ShownClock::begin(agent, &named, pauses);
        Some(Self { agent, named, clock })
    }

    fn send<A: EventBody>(&self, thread: &Thread, event_type: jint, body: A) {
        gate::call_agent(|| {
            let named = (self.named.env(), Some(self.clock.time));
            notify::deliver_for_vm(self.agent, thread, named, event_type, body);
        });
        bounded_wait::count_step();
    }

    /// Sends ARENA_NEW, if the agent has enabled it and has not received it for this arena.
    fn announce(&self, thread: &Thread, arena: jint) {
        if self.agent.wants(JVMPI_EVENT_ARENA_NEW) {
            announcements::once(arenas::announced(arena), self.agent, |sending| {
                if sending.call() {
                    self.send(thread, JVMPI_EVENT_ARENA_NEW, definitions::arena(arena));
                }
                true
            });
        }
    }
}

/// Delivers the GC events of a collection to the agents, on the current thread, while no other
/// thread sends events. Does nothing and returns false while an agent has disabled GC.
pub fn play(jni: Jni, thread: &Thread, dead: &[i64], pauses: Pauses) -> bool {
    // Calls into the VM are made before the gate is closed.
    let bytes = threads::internally(jni, || runtime_memory(jni)).unwrap_or((0, 0));
    let Some(closed) = gate::close() else { return false };
    let mut listeners: Vec<_> =
        agents::all().iter().filter_map(|agent| Listener::of(agent, pauses)).collect();
    for listener in &listeners {
        listener.send(thread, JVMPI_EVENT_GC_START, ());
    }
    // IDs must not change while an event is in flight, and every agent has to get all events of
    // this collection.
    let move_survivors = closed.is_idle() && listeners.len() == agents::all().len();
    let changes = if move_survivors { collect(&listeners, thread) } else { Changes::default() };
    let told = Dead::of(dead);
    for listener in &listeners {
        send(listener, thread, &told, &changes);
    }
    let gc_info = heap_figures(bytes);
    for listener in &mut listeners {
        listener.clock.finish(listener.agent, &listener.named);
        listener.send(thread, JVMPI_EVENT_GC_FINISH, gc_info);
    }
    // No agent knows these IDs any more, except for classes that some agent is never to see
    // unloaded.
    let is_kept = |tag: Tag| told.classes.iter().any(|(class, _)| *class == tag);
    let keeps = !told.classes.is_empty() && listeners.iter().any(keeps_classes);
    let gone = dead.iter().map(|tag| Tag::from_raw(*tag)).filter(|tag| !(keeps && is_kept(*tag)));
    gone.for_each(ids::is_dead);
    drop(closed);
    lookup::end_run();
    true
}

/// Moves the surviving objects. Objects allocated meanwhile are already in the new arena, so
/// ARENA_NEW comes first. It is sent for all arenas, in case an agent has enabled the event late.
fn collect(listeners: &[Listener], thread: &Thread) -> Changes {
    let next = arenas::make_next();
    for listener in listeners {
        arenas::all().chain(next).for_each(|arena| listener.announce(thread, arena));
    }
    arenas::collect()
}

/// The freed objects, in the order in which their events are sent: objects, then classes, then
/// Class objects. No OBJECT_FREE is sent for objects in a deleted arena.
struct Dead {
    objects: Vec<Tag>,
    classes: Vec<(Tag, Arc<Class>)>,
}

impl Dead {
    fn of(tags: &[i64]) -> Self {
        let mut dead = Self { objects: Vec::with_capacity(tags.len()), classes: Vec::new() };
        for tag in tags.iter().map(|raw| Tag::from_raw(*raw)).filter(|tag| *tag != Tag::OWN) {
            ids::count_death();
            if let Some(class) = forget_class(tag.id()) {
                method_numbers::give_back(class.take_numbers());
                dead.classes.push((tag, class));
            } else if !arenas::is_deleted(tag) {
                dead.objects.push(tag);
            }
        }
        dead
    }
}

/// Drops the records of an unloaded class and its methods, if the ID is that of a class.
fn forget_class(id: jobjectID) -> Option<Arc<Class>> {
    let class = classes::remove(id)?;
    let methods = class.take_methods();
    method_classes::forget(id, &methods);
    for method in methods {
        methods::forget(method);
        native_methods::forget(method);
    }
    Some(class)
}

fn send(listener: &Listener, thread: &Thread, dead: &Dead, changes: &Changes) {
    let is_announced = |tag: Tag| tag.is_announced_to(listener.agent);
    let free = |tag: Tag| {
        let obj_free = JVMPI_Event_obj_free { obj_id: tag.id() };
        listener.send(thread, JVMPI_EVENT_OBJECT_FREE, obj_free);
    };
    for Move { from, arena, new_arena, new_id } in &changes.moves {
        if is_announced(*from) {
            let obj_move = JVMPI_Event_obj_move {
                arena_id: *arena,
                obj_id: from.id(),
                new_arena_id: *new_arena,
                new_obj_id: *new_id,
            };
            listener.send(thread, JVMPI_EVENT_OBJECT_MOVE, obj_move);
        }
    }
    if let Some(arena_id) = changes.deleted {
        let delete_arena = JVMPI_Event_delete_arena { arena_id };
        listener.send(thread, JVMPI_EVENT_ARENA_DELETE, delete_arena);
    }
    for tag in dead.objects.iter().copied().filter(|tag| is_announced(*tag)) {
        free(tag);
    }
    if keeps_classes(listener) {
        return;
    }
    for (tag, class) in &dead.classes {
        let announced = class.announced.to(listener.agent);
        if announced {
            let class_unload = JVMPI_Event_class_unload { class_id: class.id() };
            listener.send(thread, JVMPI_EVENT_CLASS_UNLOAD, class_unload);
        }
        if announced || is_announced(*tag) {
            free(*tag);
        }
    }
}

/// Returns true if this agent gets no CLASS_UNLOAD, and so no OBJECT_FREE of a Class object.
fn keeps_classes(listener: &Listener) -> bool {
    listener.agent.options().unload == Unload::Off
}

/// Returns the contents of GC_FINISH: sizes in bytes as `java.lang.Runtime` counts them, and the
/// number of objects with IDs if all objects have one, else 0.
fn heap_figures((total, free): (jlong, jlong)) -> JVMPI_Event_gc_info {
    let every_object_has_an_id = allocations::are_all_announced();
    JVMPI_Event_gc_info {
        used_objects: if every_object_has_an_id { ids::live() } else { 0 },
        used_object_space: total - free,
        total_object_space: total,
    }
}

/// Returns `Runtime.totalMemory()` and `freeMemory()`.
fn runtime_memory(jni: Jni) -> Option<(jlong, jlong)> {
    jni.frame(8, |jni| {
        let class = jni.find_class(c"java/lang/Runtime")?;
        let get = jni.static_method(class, c"getRuntime", c"()Ljava/lang/Runtime;")?;
        let runtime = jni.call_static_object(class, get, &[])?;
        let bytes = |name| jni.call_long(runtime, jni.method(class, name, c"()J")?, &[]);
        Some((bytes(c"totalMemory")?, bytes(c"freeMemory")?))
    })
}
