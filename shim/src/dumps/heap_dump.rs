//! HEAP_DUMP.

use super::walk::{Failure, Stack, Surroundings, Walk};
use crate::classes::layouts::{self, Layout};
use crate::gc::{gate, lookup};
use crate::records::agents::{self, Agent};
use crate::records::announced::Replay;
use crate::records::class::{self, Class};
use crate::records::ids;
use crate::threads::{self, Thread};
use crate::translate::announce::{self, ClassFor};
use crate::translate::frames::{Stacks, SuspendedThread, hidden_frames, stop_the_world};
use crate::translate::objects::{self, Unannounced};
use crate::translate::references;
use crate::{classes, notify};
use jni_sys::{jclass, jint, jobject};
use jvm::boundary::OnDrop;
use jvm::{FieldId, Jni};
use jvmpi_formats::dump::{Buffer, Id, Level};
use jvmpi_sys::{JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_HEAP_DUMP, JVMPI_Event_heap_dump};
use std::collections::HashMap;
use std::ptr;
use std::sync::Arc;

/// The number of attempts if a walk meets an unregistered class.
const ATTEMPTS: usize = 10;

/// The number of classes that may be loaded while threads are being suspended without another attempt.
const NEW_CLASSES: usize = 64;

/// Answers RequestEvent(HEAP_DUMP). Returns false if there is no such level, or if the VM has ended meanwhile.
///
/// # Errors
/// Returns the reason why there is no dump.
pub fn request(jni: Jni, agent: &Agent, thread: &Thread, level: jint) -> Result<bool, String> {
    let Some(level) = Level::from_number(level) else { return Ok(false) };
    let _after = OnDrop(lookup::end_run);
    let _no_gc = gate::without_gc();
    let (mut bytes, mut stacks) = make(jni, agent, thread, level)?;
    let (num_traces, traces) = match level {
        Level::Objects => (0, ptr::null_mut()),
        _ => stacks.traces(),
    };
    let bytes = bytes.as_mut_ptr_range();
    let heap_dump = JVMPI_Event_heap_dump {
        dump_level: level as jint,
        begin: bytes.start.cast(),
        end: bytes.end.cast(),
        num_traces,
        traces,
    };
    lookup::expect_requests();
    Ok(notify::request(agent, thread, JVMPI_EVENT_HEAP_DUMP, heap_dump))
}

fn make(
    jni: Jni,
    agent: &Agent,
    thread: &Thread,
    level: Level,
) -> Result<(Buffer, Stacks), String> {
    let _replay = Replay::begin(agent);
    let mut unannounced = Vec::new();
    let walked = jni.frame(64, |jni| walk(jni, agent, thread, level, &mut unannounced));
    for class in walked.iter().flat_map(|(walk, _)| walk.classes()) {
        announce::class(jni, agent, thread, class, ClassFor::Dump);
    }
    // The objects' tags already mark them as announced, so they are announced even if the dump fails.
    for object in &unannounced {
        objects::announce_found(jni, agent, thread, object);
    }
    let (mut walk, suspended) = walked?;
    let stacks = Stacks::of(jni, agent, thread, &suspended);
    walk.number_frames(|thread, depth| stacks.number(thread, depth));
    let bytes = walk.finish(announced_classes(agent)).map_err(|failure| failure.to_string())?;
    Ok((bytes, stacks))
}

/// Returns a test for the classes that an agent can read in a dump. These are the classes announced to it. If
/// it has never enabled CLASS_LOAD, it requests each class, so these are all classes.
pub fn announced_classes(agent: &Agent) -> impl Fn(&Class) -> bool {
    let has_wanted = agent.has_wanted(JVMPI_EVENT_CLASS_LOAD);
    move |class| class.announced.to(agent) || !has_wanted
}

type Known = Vec<(Arc<Class>, Option<Arc<Layout>>)>;

/// Walks through the heap while all other threads are suspended.
fn walk<'a>(
    jni: Jni,
    agent: &'a Agent,
    thread: &Thread,
    level: Level,
    unannounced: &mut Vec<Unannounced>,
) -> Result<(Walk<'a>, Vec<SuspendedThread>), String> {
    let hidden_frames = hidden_frames(jni, thread);
    // No event may be sent while the threads are suspended.
    let listener = announce::listener(agent, thread);
    // Most classes are examined before the threads are suspended.
    let mut num_classes = known_classes(jni, link_archived)?.len();
    let mut attempts = 0;
    while attempts < ATTEMPTS {
        attempts += 1;
        let room = ClassObjects::with_room(jni, num_classes + NEW_CLASSES)?;
        let (stopped, suspended) = stop_the_world(jni, thread, hidden_frames)?;
        // No agent may be called now: suspended threads may hold its locks.
        let known = threads::internally(jni, || known_classes(jni, |_, _| ()))?;
        num_classes = known.len();
        if !room.fits(num_classes) {
            continue;
        }
        let (own, known): (Known, Known) = known.into_iter().partition(|(class, _)| class.is_own());
        let classes: Vec<_> = known.iter().map(|(class, _)| class).collect();
        let held = room.fill(jni, &classes)?;
        let mut hidden = threads::hidden_objects();
        hidden.extend(own.iter().map(|(class, _)| class.id().addr()));
        let surroundings = Surroundings {
            level,
            classes: known,
            threads: stacks(&suspended, thread, hidden_frames),
            hidden,
            own_references: own_references(),
            global_references: references::strong_by_object(agent),
            held,
            listener,
        };
        let buffer = Buffer::new().map_err(|full| full.to_string())?;
        let mut walk = Walk::new(buffer, surroundings);
        let followed = stopped.walk_from_roots(&mut walk);
        unannounced.append(&mut walk.unannounced);
        drop(stopped);
        match walk.failure() {
            // Some threads may run: a thread attached meanwhile, or a virtual thread that is mounted.
            Some(Failure::UnknownClass(_)) => {}
            Some(Failure::NotLinked(class)) => {
                link_met(jni, class)?;
                // The next attempt meets no object of this class before it is linked.
                attempts -= 1;
            }
            Some(failure) => return Err(failure.to_string()),
            None => {
                followed?;
                return Ok((walk, suspended));
            }
        }
    }
    Err("the program loads classes faster than they can be looked at".to_owned())
}

/// Links a class of the boot loader, because classes of the VM's shared archive may have objects before they
/// are linked. Each class that a walk finds not to be costs another walk.
fn link_archived(jni: Jni, class: jclass) {
    let is_of_boot_loader = jvm::get().jvmti.class_loader(class).is_ok_and(|l| l.is_null());
    if is_of_boot_loader && !class::is_ready(class) {
        classes::link(jni, class);
    }
}

/// Returns all loaded classes, with the layouts of the linked ones. `prepare` is called first for each class
/// whose layout is not known.
fn known_classes(jni: Jni, prepare: impl Fn(Jni, jclass)) -> jvm::Result<Known> {
    let all = classes::all_loaded(jni)?;
    let mut known = Known::with_capacity(all.len());
    for class in all {
        let layout = match layouts::known(&class) {
            Some(layout) => Some(layout),
            None => jni.frame(8, |jni| {
                let object = class.object(jni).inspect(|object| prepare(jni, *object));
                let object = object.filter(|object| class::is_ready(*object));
                object.map(|object| layouts::of(jni, &class, object)).transpose()
            })?,
        };
        known.push((class, layout));
    }
    Ok(known)
}

fn link_met(jni: Jni, class: Id) -> Result<(), String> {
    let class = classes::by_id(ptr::without_provenance_mut(class)).ok_or("a class is gone")?;
    jni.frame(8, |jni| {
        let object = class.object(jni).ok_or("a class is gone")?;
        layouts::readable(jni, class, object).map(drop)
    })
}

/// Returns the stacks, by the IDs of their threads.
fn stacks(
    suspended: &[SuspendedThread],
    current: &Thread,
    hidden_frames: usize,
) -> HashMap<Id, Stack> {
    // While allocations are reported, every object gets its ID when it is created.
    let all_have_ids = agents::are_all_announced();
    let stack = |(i, SuspendedThread { thread, .. }): (usize, &SuspendedThread)| {
        let is_current = thread.env() == current.env();
        let stack = Stack {
            thread: thread.env().addr(),
            number: i,
            is_allocating: all_have_ids && !is_current && thread.in_flight.is_any(),
            hidden_frames: if is_current { hidden_frames as jint } else { 0 },
        };
        (thread.id().addr(), stack)
    };
    suspended.iter().enumerate().map(stack).collect()
}

/// Returns the number of the shim's own global references by object: one to every registered Thread object.
fn own_references() -> HashMap<Id, usize> {
    let known = threads::all().into_iter().filter(|thread| thread.object().is_some());
    known.map(|thread| (thread.id().addr(), 1)).collect()
}

/// The fields whose objects the walk shows as a part of the class.
const SHOWN: [&[u8]; 4] = [b"classLoader", b"componentType", b"protectionDomain", b"signers"];

/// An array for all objects that the Class objects of a number of classes refer to, so that the walk visits them too:
/// JVMTI's walk treats a Class object as the class and shows the references of the class. It omits the fields of
/// `java.lang.Class`: names, members known to reflection, annotations. The array is allocated before threads are
/// suspended and filled while they are.
pub struct ClassObjects {
    /// A local reference in the current frame; NULL if memory is short.
    array: jobject,
    fields: Vec<FieldId>,
    num_classes: usize,
}

impl ClassObjects {
    /// Allocates an array for this many classes.
    pub fn with_room(jni: Jni, num_classes: usize) -> jvm::Result<Self> {
        let find =
            || Some((jni.find_class(c"java/lang/Class")?, jni.find_class(c"java/lang/Object")?));
        let Some((meta, object)) = threads::internally(jni, find) else {
            return Ok(Self { array: ptr::null_mut(), fields: Vec::new(), num_classes });
        };
        let fields = reference_fields(meta)?;
        let length = num_classes * fields.len();
        let array = threads::internally(jni, || jni.new_array(length as jint, object));
        Ok(Self { array: array.unwrap_or(ptr::null_mut()), fields, num_classes })
    }

    /// Returns true if the array is large enough for this many classes.
    pub fn fits(&self, num_classes: usize) -> bool {
        num_classes <= self.num_classes
    }

    /// Fills the array for classes that it [`fits`](Self::fits). Returns its ID; None if there was no memory for it.
    pub fn fill(&self, jni: Jni, classes: &[&Arc<Class>]) -> jvm::Result<Option<Id>> {
        if self.array.is_null() {
            return Ok(None);
        }
        for (i, class) in classes.iter().enumerate() {
            jni.frame(4, |jni| {
                let Some(object) = class.object(jni) else { return };
                for (j, field) in self.fields.iter().enumerate() {
                    let value = jni.object_field(object, *field);
                    if !value.is_null() {
                        let index = (i * self.fields.len() + j) as jint;
                        jni.set_array_element(self.array, index, value);
                        jni.delete_local(value);
                    }
                }
            });
        }
        let tag = ids::fresh()?;
        jvm::get().jvmti.set_tag(self.array, tag.raw())?;
        Ok(Some(tag.id().addr()))
    }
}

fn reference_fields(meta: jclass) -> jvm::Result<Vec<FieldId>> {
    let jvmti = jvm::get().jvmti;
    let mut fields = Vec::new();
    for id in jvmti.class_fields(meta)?.iter() {
        let field = jvmti.field(meta, *id)?;
        let is_static = jvmti.is_static(meta, *id)?;
        let is_reference = matches!(field.signature.to_bytes(), [b'L' | b'[', ..]);
        if is_reference && !is_static && !SHOWN.contains(&field.name.to_bytes()) {
            fields.push(FieldId(*id));
        }
    }
    Ok(fields)
}
