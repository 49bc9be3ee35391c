//! MONITOR_DUMP.

use super::locked::Snapshots;
use crate::classes::{self, Linking};
use crate::gc::heap_walk::Stopped;
use crate::gc::{gate, lookup};
use crate::notify;
use crate::records::agents::Agent;
use crate::records::ids::{self, Supply, Tag};
use crate::records::virtual_thread;
use crate::suspension::thread_state;
use crate::sync::raw_monitors;
use crate::threads::{self, Thread};
use crate::translate::announce;
use crate::translate::frames::{Stacks, hidden_frames, stop_the_world};
use jni_sys::{jint, jlong, jobject};
use jvm::boundary::OnDrop;
use jvm::heap::{Edge, Next, Object, Referrer, Root, Visitor};
use jvm::types::{
    JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER, JVMTI_THREAD_STATE_IN_OBJECT_WAIT,
    JVMTI_THREAD_STATE_SUSPENDED,
};
use jvm::{Jni, LARGE_FRAME, virtual_threads};
use jvmpi_formats::dump::{Buffer, Id, Kind, Monitor, write_monitor};
use jvmpi_sys::{JVMPI_EVENT_MONITOR_DUMP, JVMPI_Event_monitor_dump, jobjectID};
use std::collections::{HashMap, HashSet};

/// Answers RequestEvent(MONITOR_DUMP). Returns false if the VM has ended meanwhile.
///
/// # Errors
/// Returns the reason why there is no dump.
pub fn request(jni: Jni, agent: &Agent, thread: &Thread) -> Result<bool, String> {
    let _after = OnDrop(lookup::end_run);
    let _no_gc = gate::without_gc();
    let mut dump = make(jni, agent, thread)?;
    let (num_traces, traces) = dump.stacks.traces();
    let bytes = dump.bytes.as_mut_ptr_range();
    let monitor_dump = JVMPI_Event_monitor_dump {
        begin: bytes.start.cast(),
        end: bytes.end.cast(),
        num_traces,
        traces,
        threads_status: dump.statuses.as_mut_ptr(),
    };
    Ok(notify::request(agent, thread, JVMPI_EVENT_MONITOR_DUMP, monitor_dump))
}

/// The number of attempts if a thread has run since its snapshot was taken.
const ATTEMPTS: usize = 5;

struct Dump {
    bytes: Buffer,
    stacks: Stacks,
    statuses: Vec<jint>,
    /// The owner of the names that the dump points to.
    _raw: Vec<raw_monitors::Snapshot>,
}

fn make(jni: Jni, agent: &Agent, thread: &Thread) -> Result<Dump, String> {
    // Work that loads or initializes classes is done before threads are suspended.
    threads::internally(jni, || virtual_threads::get(jni));
    // Class objects are candidates and are recognized by their tags.
    classes::all_loaded(jni)?;
    // No event is sent meanwhile: suspended threads may hold an agent's lock.
    let mut missing = Vec::new();
    let mut look = |jni: Jni| {
        let snapshots = Snapshots::take(jni, &missing);
        let (stopped, suspended) = stop_the_world(jni, thread, hidden_frames(jni, thread))?;
        let found = suspended.iter().map(|found| &*found.thread);
        let threads: Vec<_> = found.map(|thread| (thread, state(&stopped, thread))).collect();
        let statuses: Vec<_> =
            threads.iter().map(|(thread, state)| thread_state::status(thread, *state)).collect();
        let java = jni
            .frame(LARGE_FRAME, |jni| java_monitors(jni, thread, &stopped, &threads, &snapshots))?;
        let raw = raw_monitors::all();
        drop(stopped);
        let again = snapshots.again();
        let is_exact = again.is_none();
        missing = again.unwrap_or_default();
        Ok::<_, String>((is_exact, (java, raw, suspended, statuses)))
    };
    let (java, raw, suspended, statuses) = threads::internally(jni, || {
        let mut attempt = 1;
        loop {
            let (is_exact, found) = jni.frame(LARGE_FRAME, &mut look)?;
            if is_exact || attempt == ATTEMPTS {
                return Ok::<_, String>(found);
            }
            attempt += 1;
        }
    })?;

    jni.frame(16, |jni| {
        for (id, _) in &java {
            // The agent gets the object's ID even if the object cannot be announced.
            if let Some(object) = lookup::object(jni, *id) {
                let _ = announce::object(jni, agent, thread, object, Linking::Jdk);
                jni.delete_local(object);
            }
        }
    });
    let stacks = Stacks::of(jni, agent, thread, &suspended);
    let statuses = stacks.threads.iter().map(|i| statuses[*i]).collect();
    let mut bytes = Buffer::new().map_err(|full| full.to_string())?;
    let java = java.into_iter().map(|(_, monitor)| monitor);
    for monitor in java.chain(raw.iter().map(|raw| raw.monitor.clone())) {
        write_monitor(&mut bytes, &monitor).map_err(|full| full.to_string())?;
    }
    Ok(Dump { bytes, stacks, statuses, _raw: raw })
}

/// Returns a thread's JVMTI state, without a suspension by the shim or by agents.
fn state(stopped: &Stopped, thread: &Thread) -> jint {
    let Some(object) = thread.object() else { return 0 };
    let state = jvm::get().jvmti.thread_state(object.get()).unwrap_or(0);
    let is_ours = stopped.has_suspended(thread, object.get()) || thread.suspension.is_ours();
    if is_ours { state & !JVMTI_THREAD_STATE_SUSPENDED } else { state }
}

/// Returns every Java monitor that has an owner or waiting threads, with the ID of its object. The threads come with
/// their JVMTI states.
fn java_monitors(
    jni: Jni,
    current: &Thread,
    stopped: &Stopped,
    threads: &[(&Thread, jint)],
    snapshots: &Snapshots,
) -> jvm::Result<Vec<(jobjectID, Monitor)>> {
    let mut seen = HashSet::new();
    let mut monitors = Vec::new();
    let candidates = candidates(jni, current, stopped, threads, snapshots)?;
    for (object, id) in candidates.objects.iter().copied() {
        if seen.insert(id.addr())
            && let Some(monitor) = usage(jni, object, id, &candidates)?
        {
            monitors.push((id, monitor));
        }
    }
    Ok(monitors)
}

/// Returns a monitor's state; None if no thread owns it or waits for it.
fn usage(
    jni: Jni,
    object: jobject,
    id: jobjectID,
    candidates: &Candidates,
) -> jvm::Result<Option<Monitor>> {
    let usage = jvm::get().jvmti.monitor_usage(object)?;
    let all = |threads: &[jobject]| {
        threads.iter().filter_map(|thread| env(jni, *thread)).collect::<Vec<_>>()
    };
    let blocked = candidates.blocked.get(&id.addr()).map_or(&[][..], Vec::as_slice);
    // Up to JDK 22 a notified thread that does not own the monitor yet is missing from all lists. Instead a
    // thread that was not notified occurs twice.
    let waiting = candidates.waiting.get(&id.addr()).map_or(&[][..], Vec::as_slice);
    let once = |lists: [&[Id]; 2]| {
        let mut all = lists.concat();
        all.sort_unstable();
        all.dedup();
        all
    };
    let waiting_to_be_notified = once([&all(&usage.notify_waiters), waiting]);
    let mut waiting_to_enter = once([&all(&usage.waiters), blocked]);
    // Up to JDK 22 (JDK-8247972) they are counted twice.
    waiting_to_enter.retain(|thread| !waiting_to_be_notified.contains(thread));
    let platform = env(jni, usage.owner).map(|env| (env, usage.entry_count));
    let owner = platform.or_else(|| candidates.carriers.get(&id.addr()).copied());
    let (owner, entry_count) = owner.unwrap_or_default();
    let monitor = Monitor {
        kind: Kind::Java { object: id.addr() },
        owner,
        entry_count,
        waiting_to_enter,
        waiting_to_be_notified,
    };
    let is_used = monitor.owner != 0
        || !monitor.waiting_to_enter.is_empty()
        || !monitor.waiting_to_be_notified.is_empty();
    Ok(is_used.then_some(monitor))
}

/// Returns the environment of a thread, unless it is hidden from agents. A virtual thread that is not a
/// JVMPI thread of its own has its carrier's environment.
fn env(jni: Jni, thread: jobject) -> Option<Id> {
    if thread.is_null() {
        return None;
    }
    let threads = virtual_threads::get(jni).filter(|_| !virtual_thread::are_threads());
    let carrier = threads.and_then(|threads| threads.carrier(jni, thread));
    let id = ids::tag(carrier.unwrap_or(thread)).ok()?.id();
    let thread = threads::by_id(id).filter(|thread| !thread.is_hidden())?;
    Some(thread.env().addr())
}

/// The owner of a monitor, and its entry count.
type Owner = (Id, u32);

/// Pairs each object with its owner and entry count.
fn with_owner(owned: Vec<(jobject, u32)>, env: Id) -> impl Iterator<Item = (jobject, Owner)> {
    owned.into_iter().map(move |(object, entry_count)| (object, (env, entry_count)))
}

/// The objects whose monitors may be in use, as local references in the current frame.
#[derive(Default)]
struct Candidates {
    objects: Vec<(jobject, jobjectID)>,
    /// For virtual threads that own monitors, their carriers, by the IDs of the objects.
    carriers: HashMap<usize, Owner>,
    /// The threads that wait to enter, by the IDs of the objects.
    blocked: HashMap<usize, Vec<Id>>,
    /// The virtual threads with their own JVMPI thread that wait to be notified, by the objects' IDs, from
    /// JDK 25 on.
    waiting: HashMap<usize, Vec<Id>>,
}

/// Returns the objects that threads own, or wait to enter or in, and those for which the VM keeps monitors.
/// If the VM does not list a thread's monitors, also all objects on its stack and all classes.
fn candidates(
    jni: Jni,
    current: &Thread,
    stopped: &Stopped,
    threads: &[(&Thread, jint)],
    snapshots: &Snapshots,
) -> jvm::Result<Candidates> {
    let jvmti = jvm::get().jvmti;
    let (mut objects, mut blocked, mut waiting) = (Vec::new(), Vec::new(), Vec::new());
    let mut owned_by_carried = Vec::new();
    // The shim's own threads are excluded.
    let hidden = threads::all().into_iter().filter(|thread| thread.is_hidden());
    let mut complete: HashSet<_> = hidden.map(|thread| thread.id().addr()).collect();
    for &(thread, state) in threads {
        let Some(object) = thread.object() else { continue };
        let first = owned_by_carried.len();
        let mut is_complete = if thread.is_virtual() {
            let owned = owned_by_virtual(jni, object.get(), snapshots);
            let is_known = owned.is_some();
            owned_by_carried.extend(with_owner(owned.unwrap_or_default(), thread.env().addr()));
            is_known
        } else {
            let owned = jvmti.owned_monitors(object.get());
            objects.extend(owned.iter().flat_map(|owned| owned.iter().copied()));
            owned.is_ok()
        };
        let contended = contended_monitor(object.get());
        // Up to JDK 22 this is also the monitor in which the thread waits.
        if contended.is_none() && state & JVMTI_THREAD_STATE_IN_OBJECT_WAIT != 0 {
            match snapshots.of_waiting(thread) {
                Some(locked) => {
                    if thread.is_virtual() {
                        // The VM does not list the thread as waiting. The thread waits in an object that its
                        // frames have locked and that it does not own.
                        let owned = &owned_by_carried[first..];
                        let is_owned = |object: jobject| {
                            owned.iter().any(|(owned, _)| jni.same_object(*owned, object))
                        };
                        let waited = locked.iter().copied().filter(|object| !is_owned(*object));
                        waiting.extend(waited.map(|monitor| (monitor, thread.env().addr())));
                    }
                    objects.extend_from_slice(locked);
                }
                None => is_complete = false,
            }
        }
        objects.extend(contended);
        if state & JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER != 0 {
            blocked.extend(contended.map(|monitor| (monitor, thread.env().addr())));
        }
        if is_complete {
            complete.insert(thread.id().addr());
        }
    }
    // Virtual threads that are JVMPI threads of their own are already in `threads`.
    let virtual_threads = virtual_threads::get(jni).filter(|_| !virtual_thread::are_threads());
    let class = virtual_threads.map(|threads| ids::tag(threads.class())).transpose()?;
    let mut roots = Roots {
        new_ids: &current.new_ids,
        complete: &complete,
        virtual_threads: class.map(Tag::id),
        tags: Vec::new(),
    };
    stopped.walk_from_roots(&mut roots)?;
    roots.tags.sort_unstable();
    roots.tags.dedup();
    let rooted = jvmti.all_tagged(&roots.tags)?;

    let mut all_complete = threads.iter().all(|(thread, _)| complete.contains(&thread.id().addr()));
    for (object, _) in &rooted {
        let carrier = virtual_threads.and_then(|threads| threads.carrier(jni, *object));
        let Some(env) = carrier.and_then(|carrier| env(jni, carrier)) else { continue };
        match owned_by_virtual(jni, *object, snapshots) {
            Some(owned) => owned_by_carried.extend(with_owner(owned, env)),
            None => all_complete = false,
        }
        objects.extend(contended_monitor(*object));
    }
    if !all_complete {
        objects.extend(jvmti.loaded_classes()?.iter().copied());
    }

    let mut candidates = Candidates::default();
    let rooted = rooted.iter().map(|(object, _)| (*object, None));
    let owned_by_carried = owned_by_carried.iter().map(|(object, owner)| (*object, Some(*owner)));
    let others = objects.iter().map(|object| (*object, None));
    for (object, carrier) in rooted.chain(owned_by_carried).chain(others) {
        let mut tag = ids::tag(object)?;
        if tag.id().is_null() {
            tag = current.new_ids.fresh()?;
            jvmti.set_tag(object, tag.raw())?;
        }
        candidates.objects.push((object, tag.id()));
        candidates.carriers.extend(carrier.map(|owner| (tag.id().addr(), owner)));
    }
    for (pairs, by_object) in
        [(blocked, &mut candidates.blocked), (waiting, &mut candidates.waiting)]
    {
        for (monitor, thread) in pairs {
            let id = ids::tag(monitor)?.id();
            by_object.entry(id.addr()).or_default().push(thread);
        }
    }
    Ok(candidates)
}

/// Returns the monitor that a thread waits to enter or, up to JDK 22, in which it waits.
fn contended_monitor(thread: jobject) -> Option<jobject> {
    jvm::get().jvmti.contended_monitor(thread).ok().filter(|monitor| !monitor.is_null())
}

/// Returns the monitors that a virtual thread owns, as local references, with their entry counts. None if
/// the VM does not say.
fn owned_by_virtual(
    jni: Jni,
    thread: jobject,
    snapshots: &Snapshots,
) -> Option<Vec<(jobject, u32)>> {
    // Without snapshots (JDK 21), JVMTI creates the references to owned monitors in the carrier's frame.
    if !snapshots.are_available {
        return None;
    }
    let owned = jvm::get().jvmti.owned_monitors(thread).ok()?;
    if owned.is_empty() {
        return Some(Vec::new());
    }
    let locked = snapshots.of_owner(ids::tag(thread).ok()?.id());
    let count = |object| locked.iter().filter(|locked| jni.same_object(**locked, object)).count();
    Some(owned.iter().map(|object| (*object, count(*object).max(1) as u32)).collect())
}

/// A heap walk that collects objects referenced by roots: monitors, mounted virtual threads, and objects on
/// the stacks of threads whose monitors the VM does not list completely.
struct Roots<'a> {
    new_ids: &'a Supply,
    /// The IDs of the threads whose monitors are known without their stacks.
    complete: &'a HashSet<usize>,
    /// The ID of the class `java.lang.VirtualThread`.
    virtual_threads: Option<jobjectID>,
    tags: Vec<jlong>,
}

impl Visitor for Roots<'_> {
    fn reference(
        &mut self,
        edge: Edge,
        object: Object,
        tag: &mut jlong,
        _: Option<Referrer>,
    ) -> Next {
        let is_candidate = match edge {
            Edge::Root(Root::Monitor) => true,
            Edge::Root(Root::Other) => {
                self.virtual_threads == Some(Tag::from_raw(object.class).id())
            }
            Edge::Root(Root::StackLocal(local) | Root::JniLocal(local)) => {
                !self.complete.contains(&Tag::from_raw(local.thread).id().addr())
            }
            _ => false,
        };
        if is_candidate {
            if Tag::from_raw(*tag).id().is_null() {
                let Ok(fresh) = self.new_ids.fresh() else { return Next::Skip };
                *tag = fresh.raw();
            }
            self.tags.push(*tag);
        }
        Next::Skip
    }
}
