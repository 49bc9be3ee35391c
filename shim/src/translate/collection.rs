//! Delivers collections to agents: GC_START, OBJECT_FREE, OBJECT_MOVE, CLASS_UNLOAD, ARENA_NEW, ARENA_DELETE and GC_FINISH.
//!
//! JVMPI's collections stop all threads, and all events of one are sent on one thread between GC_START and
//! GC_FINISH. JVMTI reports a real collection while the world is stopped, when no agent may be called, and dead
//! objects later, on a thread of the VM. So the real events only mark that a collection is due and queue the tags
//! of the dead. A thread of the shim, or the caller of RunGC, then delivers ("plays") the collection.

use super::definitions;
use crate::classes::{self, layouts, method_classes, method_numbers, methods};
use crate::gc::arenas::{self, Changes, Move};
use crate::gc::deaths::{self, WAKE, due, make_sentinel, reports_later, take_signs};
use crate::gc::{gate, lookup};
use crate::notify;
use crate::records::agents::{self, Agent};
use crate::records::class::Class;
use crate::records::ids::{self, Tag};
use crate::records::native_methods;
use crate::records::pauses::{self, Pauses};
use crate::sync::announcements;
use crate::sync::bounded_wait::{self, BoundedWait};
use crate::threads::agent_clock::ShownClock;
use crate::threads::{self, Thread, os_thread};
use jni_sys::{jint, jlong};
use jvm::lock::{Condition, Lock};
use jvm::types::{JVMTI_EVENT_OBJECT_FREE, jvmtiEnv};
use jvm::{Jni, internals, vm_structs};
use jvmpi_settings::Unload;
use jvmpi_sys::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

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

/// The OS thread that is delivering collections, 0 for none. The lock is not held meanwhile.
static PLAYER: Lock<i32> = Lock::new(0);
/// Signalled when no thread delivers any more.
static PLAYED: Condition = Condition::new();

/// The right to deliver collections, which one thread has at a time.
struct Playing(());

impl Playing {
    /// Waits for the right. None if this thread has it, or if a handler of the owner's collection does not return.
    fn begin() -> Option<Self> {
        let me = os_thread();
        let mut waiting = BoundedWait::new();
        loop {
            let mut player = PLAYER.lock();
            let other = *player;
            if other == 0 {
                *player = me;
                return Some(Self(()));
            }
            if other == me {
                return None;
            }
            drop(PLAYED.wait_for(player, waiting.pause()));
            if !waiting.goes_on_in_handlers() {
                return None;
            }
        }
    }
}

impl Drop for Playing {
    fn drop(&mut self) {
        *PLAYER.lock() = 0;
        PLAYED.notify_all();
    }
}

static STARTED: AtomicBool = AtomicBool::new(false);

/// Starts the thread that delivers collections, once.
pub fn start(jni: Jni) {
    if STARTED.swap(true, Ordering::SeqCst) {
        return;
    }
    if moves_only_in_pauses() {
        pauses::moves_only_in_pauses();
    }
    if let Err(error) = jvm::get().class_env.set_notification(JVMTI_EVENT_OBJECT_FREE, true) {
        log::debug!("OBJECT_FREE may come late: {error}");
    }
    make_sentinel(jni);
    let run = |jni| {
        let thread = threads::current(jni);
        while wait_for_signs() {
            if let Some(playing) = Playing::begin() {
                play_due(jni, &thread, &playing);
            }
        }
    };
    if let Err(error) = threads::start_hidden(jni, c"jvmpi", run) {
        log::error!("collections cannot be reported: {error}");
    }
}

/// Returns true if the collector is known to move and free objects only in pauses, and JVMTI to report all of them.
/// Before 25, Serial and Parallel do not report that they collect for a histogram or a heap dump of the VM.
pub fn moves_only_in_pauses() -> bool {
    let flags = [c"UseG1GC", c"UseSerialGC", c"UseParallelGC"];
    let known = if jvm::get().feature_version() >= 25 { &flags[..] } else { &flags[..1] };
    internals::COLLECTOR.find(|| vm_structs::is_any_set(known)) == Some(true)
}

/// Waits for a sign that there was a collection. Returns false if no more collections will be delivered.
fn wait_for_signs() -> bool {
    let mut due = due();
    while !due.is_over && !due.has_sign() {
        due = WAKE.wait(due);
    }
    !due.is_over
}

/// Ends the thread that delivers collections. Otherwise the ending VM would wait 300 ms for it, because it is in
/// native code.
pub fn end() {
    due().is_over = true;
    WAKE.notify_all();
}

/// Delivers the collections that are due as one.
fn play_due(jni: Jni, thread: &Thread, playing: &Playing) {
    let is_due = take_signs();
    make_sentinel(jni);
    if is_due {
        play_one(jni, thread, playing);
    }
}

/// Delivers a collection, with all dead objects whose reports are complete. If collections are disabled, it is deferred.
fn play_one(jni: Jni, thread: &Thread, _: &Playing) {
    let (dead, pauses) = {
        let mut due = due();
        (std::mem::take(&mut due.complete), due.time.take())
    };
    let is_played = play(jni, thread, &dead, pauses);
    let mut due = due();
    due.is_deferred = !is_played;
    if !is_played {
        due.time.give_back(pauses);
        due.complete.extend(dead);
    }
}

/// The time without a report after which RunGC does not wait for more: those that come later belong to the next collection.
const LAST_REPORT: Duration = Duration::from_secs(2);

/// Waits until the newest sentinel is known to be dead, or until no more deaths are reported. The sentinel survives a
/// collection that began before its creation, and one found by another tool's walk is never reported.
fn wait_for_reports() {
    let (mut reports, mut since, mut waiting) = (0, Instant::now(), BoundedWait::new());
    while reports_later() {
        let due = due();
        let now = due.reports();
        if now != reports {
            (reports, since) = (now, Instant::now());
        }
        if !due.sentinels.newest_is_alive() || since.elapsed() >= LAST_REPORT {
            return;
        }
        drop(WAKE.wait_for(due, waiting.pause()));
    }
}

/// Implements RunGC: collects, and delivers the collection on the calling thread before it returns. If a
/// handler of another delivery does not return, the new collection is delivered later.
pub fn run(jni: Jni, thread: &Thread) -> jvm::Result<()> {
    let Some(playing) = Playing::begin() else {
        return jvm::get().jvmti.force_garbage_collection();
    };
    // The collections that were due before are delivered first.
    play_due(jni, thread, &playing);
    loop {
        // An older sentinel may have died in an earlier collection whose reports are late.
        let sentinel = make_sentinel(jni);
        jvm::get().jvmti.force_garbage_collection()?;
        wait_for_reports();
        // If a walk has found the sentinel, the reports are complete only after one more collection.
        if sentinel.is_none_or(|sentinel| due().sentinels.found < sentinel) {
            break;
        }
    }
    take_signs();
    play_one(jni, thread, &playing);
    Ok(())
}

/// Runs `f` while no collection is being delivered, except one with a handler that does not return.
pub fn between<R>(f: impl FnOnce() -> R) -> R {
    let _playing = Playing::begin();
    f()
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
        bounded_wait::while_delivering(|| {
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
fn play(jni: Jni, thread: &Thread, dead: &[i64], pauses: Pauses) -> bool {
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
    let move_survivors = closed.is_idle && listeners.len() == agents::all().len();
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
    layouts::forget(id);
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
    let every_object_has_an_id = agents::are_all_announced();
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
