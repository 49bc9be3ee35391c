//! MONITOR_DUMP.

use super::stacks::Stacks;
use super::standstill::{Resting, Standstill};
use crate::jvm::heap::{Edge, Next, Object, Referrer, Root, Visitor};
use crate::jvm::{self, Jni, LARGE_FRAME, thread_snapshot};
use crate::notify;
use crate::translate::frames::hidden_frames;
use crate::translate::objects;
use crate::world::agents::Agent;
use crate::world::collections;
use crate::world::gate::NoGc;
use crate::world::ids::{self, Supply, Tag};
use crate::world::threads::{self, Thread};
use crate::world::{classes, lookup, raw_monitors};
use dump::{Buffer, Id, Kind, Monitor, write_monitor};
use jni_sys::{jint, jlong, jobject};
use jvmpi_sys::{JVMPI_EVENT_MONITOR_DUMP, JVMPI_Event_monitor_dump, jobjectID};
use jvmti_sys::JVMTI_THREAD_STATE_IN_OBJECT_WAIT;
use std::collections::HashSet;

/// RequestEvent(MONITOR_DUMP): false if the dump could not be made.
pub fn request(jni: Jni, agent: &Agent, thread: &Thread, _: jobjectID) -> bool {
    let _run = lookup::Run::begin();
    let _no_gc = NoGc::begin();
    let mut dump = match make(jni, agent, thread) {
        Ok(dump) => dump,
        Err(reason) => {
            log::warn!("no monitor dump: {reason}");
            return false;
        }
    };
    let (num_traces, traces) = dump.stacks.traces();
    let bytes = dump.bytes.as_mut_ptr_range();
    let monitor_dump = JVMPI_Event_monitor_dump {
        begin: bytes.start.cast(),
        end: bytes.end.cast(),
        num_traces,
        traces,
        threads_status: dump.statuses.as_mut_ptr(),
    };
    notify::request(agent, thread, JVMPI_EVENT_MONITOR_DUMP, monitor_dump);
    true
}

struct Dump {
    bytes: Buffer,
    stacks: Stacks,
    statuses: Vec<jint>,
    /// The names that the dump points to.
    _raw: Vec<raw_monitors::Snapshot>,
}

fn make(jni: Jni, agent: &Agent, thread: &Thread) -> Result<Dump, String> {
    let failed = |error: jvm::Error| error.to_string();
    // What needs classes to be loaded is found before all threads stand still.
    let _ = threads::quietly(jni, || thread_snapshot::get(jni));
    // Classes are candidates, and are known by their tags.
    classes::all_loaded(jni).map_err(failed)?;
    // What is made meanwhile is told to nobody: who stands still may hold an agent's lock.
    let (java, raw, resting) = threads::quietly(jni, || {
        let standstill = Standstill::begin(jni, thread, hidden_frames(jni, thread))?;
        let java = jni
            .frame(LARGE_FRAME, |jni| java_monitors(jni, thread, standstill.threads()))
            .map_err(failed)?;
        Ok::<_, String>((java, raw_monitors::all(), standstill.end()))
    })?;

    jni.frame(16, |jni| {
        for Java { object, .. } in &java {
            // An agent that does not hear of the object sees its ID all the same.
            if let Some(object) = ids::object(jni, *object) {
                let _ = objects::introduce(jni, agent, thread, object);
                jni.delete_local(object);
            }
        }
    });
    let stacks = Stacks::of(jni, agent, thread, &resting);
    let statuses = stacks.told.iter().map(|i| resting[*i].status).collect();
    let mut bytes = Buffer::new().map_err(|full| full.to_string())?;
    let java = java.into_iter().map(|java| java.monitor);
    for monitor in java.chain(raw.iter().map(|raw| raw.monitor.clone())) {
        write_monitor(&mut bytes, &monitor).map_err(|full| full.to_string())?;
    }
    Ok(Dump { bytes, stacks, statuses, _raw: raw })
}

struct Java {
    object: jobjectID,
    monitor: Monitor,
}

/// Every monitor of an object that has an owner or is waited for.
fn java_monitors(jni: Jni, current: &Thread, resting: &[Resting]) -> jvm::Result<Vec<Java>> {
    let mut seen = HashSet::new();
    let mut monitors = Vec::new();
    for (object, id) in candidates(jni, current, resting)? {
        if seen.insert(id.addr())
            && let Some(monitor) = usage(object, id)?
        {
            monitors.push(Java { object: id, monitor });
        }
    }
    Ok(monitors)
}

/// What is known of a monitor, None if no thread owns it or waits for it.
fn usage(object: jobject, id: jobjectID) -> jvm::Result<Option<Monitor>> {
    let usage = jvm::get().jvmti.monitor_usage(object)?;
    let all =
        |threads: &[jobject]| threads.iter().filter_map(|thread| env(*thread)).collect::<Vec<_>>();
    let waiting_to_be_notified = all(&usage.notify_waiters);
    let mut waiting_to_enter = all(&usage.waiters);
    // Up to JDK 21 they are counted twice.
    waiting_to_enter.retain(|thread| !waiting_to_be_notified.contains(thread));
    let owner = env(usage.owner);
    let monitor = Monitor {
        kind: Kind::Java { object: id.addr() },
        owner: owner.unwrap_or(0),
        entry_count: owner.map_or(0, |_| usage.entry_count),
        waiting_to_enter,
        waiting_to_be_notified,
    };
    let is_used = monitor.owner != 0
        || !monitor.waiting_to_enter.is_empty()
        || !monitor.waiting_to_be_notified.is_empty();
    Ok(is_used.then_some(monitor))
}

/// The environment of a thread that agents may know.
fn env(thread: jobject) -> Option<Id> {
    let id = ids::tag(thread).ok()?.id();
    let thread = threads::by_id(id).filter(|thread| !thread.is_hidden())?;
    Some(thread.env().addr())
}

/// Objects whose monitors may be in use, references in the current frame: those that threads own or
/// want to own or wait in, those that the VM keeps monitors for, and, where the VM does not tell which
/// these are, all that threads' stacks refer to, and all classes.
fn candidates(
    jni: Jni,
    current: &Thread,
    resting: &[Resting],
) -> jvm::Result<Vec<(jobject, jobjectID)>> {
    let jvmti = jvm::get().jvmti;
    let mut objects = Vec::new();
    let mut tells_all = true;
    for Resting { thread, state, .. } in resting {
        let Some(thread) = thread.object() else { continue };
        match jvmti.owned_monitors(thread.get()) {
            Ok(owned) => objects.extend(owned.iter().copied()),
            Err(_) => tells_all = false,
        }
        let contended = jvmti.contended_monitor(thread.get()).ok().filter(|m| !m.is_null());
        // Up to JDK 22 that is also what it waits in.
        if contended.is_none() && state & JVMTI_THREAD_STATE_IN_OBJECT_WAIT != 0 {
            let snapshots = thread_snapshot::get(jni);
            match snapshots.and_then(|snapshots| snapshots.locked(jni, thread.get())) {
                Some(locked) => objects.extend(locked),
                None => tells_all = false,
            }
        }
        objects.extend(contended);
    }
    let mut roots = Roots { new_ids: &current.new_ids, locals: !tells_all, tags: Vec::new() };
    collections::during_walk(|| jvmti.follow_references(None, &mut roots))?;
    roots.tags.sort_unstable();
    roots.tags.dedup();
    let rooted = jvmti.all_tagged(&roots.tags)?;
    let mut candidates: Vec<_> =
        rooted.into_iter().map(|(object, tag)| (object, Tag::from_raw(tag).id())).collect();
    if !tells_all {
        objects.extend(jvmti.loaded_classes()?.iter().copied());
    }
    for object in objects {
        let mut tag = ids::tag(object)?;
        if tag.id().is_null() {
            tag = current.new_ids.fresh();
            jvmti.set_tag(object, tag.raw())?;
        }
        candidates.push((object, tag.id()));
    }
    Ok(candidates)
}

/// Collects the objects that roots refer to: monitors, and what is on stacks if that is wanted.
struct Roots<'a> {
    new_ids: &'a Supply,
    locals: bool,
    tags: Vec<jlong>,
}

impl Visitor for Roots<'_> {
    fn reference(&mut self, edge: Edge, _: Object, tag: &mut jlong, _: Option<Referrer>) -> Next {
        let is_candidate = match edge {
            Edge::Root(Root::Monitor) => true,
            Edge::Root(Root::StackLocal(_) | Root::JniLocal(_)) => self.locals,
            _ => false,
        };
        if is_candidate {
            if Tag::from_raw(*tag).id().is_null() {
                *tag = self.new_ids.fresh().raw();
            }
            self.tags.push(*tag);
        }
        Next::Skip
    }
}
