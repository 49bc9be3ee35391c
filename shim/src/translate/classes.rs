//! CLASS_LOAD. (CLASS_UNLOAD is in `collection`.)

use super::callback::callback;
use super::send;
use crate::classes::Linking;
use crate::classes::methods::Lines;
use crate::classes::{self, definitions};
use crate::gc::gate;
use crate::gc::lookup;
use crate::instrument::{self, class_files};
use crate::jvm::{self, Jni, Result};
use crate::notify;
use crate::records::agents::{self, Agent};
use crate::records::class;
use crate::records::class::Class;
use crate::sync::{announcements, vm_locks};
use crate::threads::{self, Thread};
use jni_sys::{JNIEnv, jclass, jint, jmethodID};
use jvmpi_jvmti_sys::{jthread, jvmtiEnv};
use jvmpi_settings::ClassLoad;
use jvmpi_sys::{
    JVMPI_EVENT_CLASS_LOAD, JVMPI_Event_class_load, JVMPI_Field, JVMPI_Method, jobjectID,
};
use std::ffi::CString;
use std::ptr;
use std::sync::Arc;

pub unsafe extern "system" fn class_load(
    _: *mut jvmtiEnv,
    env: *mut JNIEnv,
    _: jthread,
    class: jclass,
) {
    // SAFETY: JVMTI passes the environment of the thread that loads the class and runs this.
    unsafe { callback(env, |jni| jni.frame(16, |jni| load(jni, class))) };
}

/// Announces a class on the thread that has loaded it, if possible: the class has to be linked first. Linking a class
/// of the boot loader runs no Java code and takes no lock of the program's. Other classes are linked by the program, or
/// when the thread ends and no longer holds a lock.
fn load(jni: Jni, class: jclass) {
    definitions::end(jni, class);
    instrument::defined(jni, class);
    if !agents::anyone_wants(JVMPI_EVENT_CLASS_LOAD) {
        return;
    }
    let thread = threads::current(jni);
    let record = match classes::of(jni, class) {
        Ok(record) if !record.is_own() => record,
        _ => return,
    };
    let _ = record.loaded_by.set((thread.env().addr(), thread.id().addr()));
    let is_boot = jvm::get().jvmti.class_loader(class).is_ok_and(|loader| loader.is_null());
    // Classes are not linked while threads are suspended for a dump: a suspended thread may be initializing a class
    // that linking needs.
    if !is_boot || vm_locks::is_suspending() {
        return thread.loaded.add(record, is_over);
    }
    thread.loaded.add_to_link(record);
    // ClassPrepare announces the class. It cannot be linked yet if its verification needs the class whose superclass it
    // is, which is still being loaded.
    let can_be_linked = |class: &Class| {
        let link = |jni: Jni| {
            let object = class.object(jni)?;
            classes::link(jni, object);
            class::is_ready(object).then_some(())
        };
        jni.frame(8, link).is_some()
    };
    thread.loaded.link_all(can_be_linked, is_over);
}

/// Returns true if the class needs no announcement any more.
fn is_over(class: &Class) -> bool {
    agents::wanting(JVMPI_EVENT_CLASS_LOAD).all(|agent| class.announced.to(agent))
        || classes::by_id(class.id()).is_none()
}

/// Announces the classes that the current thread has loaded, and those that linking them loads. The thread must hold no
/// lock of the program's.
pub fn announce_loaded(jni: Jni, thread: &Thread) {
    loop {
        let loaded = thread.loaded.take();
        for class in &loaded {
            class.let_be_linked();
            for agent in agents::wanting(JVMPI_EVENT_CLASS_LOAD) {
                announce_with(jni, agent, thread, class, Linking::Any);
            }
        }
        if loaded.is_empty() {
            return;
        }
    }
}

/// Announces the classes that the current thread has loaded or linked and that are linked now.
pub fn announce_linked(jni: Jni, thread: &Thread) {
    for class in thread.loaded.take() {
        let is_linked = |jni| class.object(jni).is_some_and(class::is_ready);
        if !jni.frame(4, is_linked) {
            thread.loaded.add(class, is_over);
            continue;
        }
        for agent in agents::wanting(JVMPI_EVENT_CLASS_LOAD) {
            announce(jni, agent, thread, &class);
        }
    }
}

pub unsafe extern "system" fn class_prepare(
    _: *mut jvmtiEnv,
    env: *mut JNIEnv,
    _: jthread,
    class: jclass,
) {
    // SAFETY: JVMTI passes the environment of the thread that prepares the class and runs this.
    unsafe { callback(env, |jni| jni.frame(16, |jni| define(jni, class))) };
}

/// Sends CLASS_LOAD to all agents that have enabled it.
fn define(jni: Jni, class: jclass) {
    if !agents::anyone_wants(JVMPI_EVENT_CLASS_LOAD) {
        // GetClassMethods gives the methods their IDs. Without these, a signal handler cannot walk stacks.
        drop(jvm::get().jvmti.class_methods(class));
        return;
    }
    let thread = threads::current(jni);
    match classes::of(jni, class) {
        // A class that is linked to read its file is announced after agents have seen the file.
        Ok(record) if vm_locks::is_suspending() || class_files::is_reading() => {
            thread.loaded.add(record, is_over);
        }
        Ok(record) => {
            for agent in agents::wanting(JVMPI_EVENT_CLASS_LOAD) {
                announce_prepared(jni, agent, &thread, &record, class);
            }
        }
        Err(error) => log::debug!("a class is not announced: {error}"),
    }
}

/// Announces every loaded and prepared class to an agent, superclasses first.
pub fn replay(jni: Jni, agent: &Agent, thread: &Thread) {
    let loaded = match classes::all_loaded(jni) {
        Ok(loaded) => loaded,
        Err(error) => return log::warn!("loaded classes are not announced: {error}"),
    };
    for class in loaded {
        jni.frame(8, |jni| {
            let Some(object) = class.object(jni) else { return };
            announce_prepared(jni, agent, thread, &class, object);
        });
    }
}

fn announce_prepared(jni: Jni, agent: &Agent, thread: &Thread, class: &Class, object: jclass) {
    if notify::may_get(agent, thread, JVMPI_EVENT_CLASS_LOAD) {
        announce_object(jni, agent, thread, class, object, (Linking::Boot, SentAs::Event));
    }
}

/// Sends CLASS_LOAD to an agent that has enabled it and has not received it for this class. The caller may hold locks
/// of the program's, and the class may be unlinked, so no code of the program's is called.
#[inline]
pub fn announce(jni: Jni, agent: &Agent, thread: &Thread, class: &Class) {
    announce_with(jni, agent, thread, class, Linking::Jdk);
}

/// Announces the class like [`announce`]. Returns true if the agent knows the class afterwards. Returns false if the
/// class cannot be linked yet.
pub fn make_known(
    jni: Jni,
    agent: &Agent,
    thread: &Thread,
    class: &Class,
    linking: Linking,
) -> bool {
    announce_with(jni, agent, thread, class, linking);
    !agent.wants(JVMPI_EVENT_CLASS_LOAD) || class.announced.has_begun(agent)
}

#[inline]
fn announce_with(jni: Jni, agent: &Agent, thread: &Thread, class: &Class, linking: Linking) {
    if agent.wants(JVMPI_EVENT_CLASS_LOAD) && !class.announced.to(agent) {
        announce_now(jni, agent, thread, class, linking);
    }
}

#[cold]
fn announce_now(jni: Jni, agent: &Agent, thread: &Thread, class: &Class, linking: Linking) {
    // A class that cannot be announced now is announced when it is named next.
    if notify::may_get(agent, thread, JVMPI_EVENT_CLASS_LOAD) {
        announce_if_alive(jni, agent, thread, class, (linking, SentAs::Event));
    }
}

/// Announces a class that a dump is about to name. Agents that have ever enabled CLASS_LOAD look up their record of
/// each class. An agent that would not get the event now gets it as if it had requested it. Array classes are exempt:
/// no object in a dump names one as its class.
pub fn announce_in_dump(jni: Jni, agent: &Agent, thread: &Thread, class: &Class) {
    if !agent.has_wanted(JVMPI_EVENT_CLASS_LOAD) || class.announced.to(agent) {
        return;
    }
    let sent_as = match notify::may_get(agent, thread, JVMPI_EVENT_CLASS_LOAD) {
        true => SentAs::Event,
        false if class.is_array() => return,
        false => SentAs::Requested,
    };
    announce_if_alive(jni, agent, thread, class, (Linking::Jdk, sent_as));
}

/// Announces linked classes that the VM has not reported, before JVM_SHUT_DOWN. The handler may disable CLASS_LOAD and
/// request dumps, which name these classes. JDK 21 reports no class that is loaded while a virtual thread leaves its
/// carrier. Array classes are exempt.
///
/// For agents the current thread has ended already, so the event names another thread.
pub fn announce_unreported(jni: Jni, agent: &Agent, thread: &Thread) {
    let loaded = match classes::all_loaded(jni) {
        Ok(loaded) => loaded,
        Err(error) => return log::warn!("loaded classes are not announced: {error}"),
    };
    let unreported = loaded.iter().filter(|class| !class.announced.to(agent) && !class.is_array());
    for class in unreported {
        announce_if_alive(jni, agent, thread, class, (Linking::Boot, SentAs::OfVm));
    }
}

/// The way in which a CLASS_LOAD is sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SentAs {
    /// The event belongs to the current thread, or to the thread that has loaded the class.
    Event,
    /// The event is marked as requested.
    Requested,
    /// The event names a thread that did not cause it. No class is linked for it.
    OfVm,
}

fn announce_if_alive(
    jni: Jni,
    agent: &Agent,
    thread: &Thread,
    class: &Class,
    how: (Linking, SentAs),
) {
    jni.frame(8, |jni| {
        if let Some(object) = class.object(jni) {
            announce_object(jni, agent, thread, class, object, how);
        }
    });
}

fn announce_object(
    jni: Jni,
    agent: &Agent,
    thread: &Thread,
    class: &Class,
    object: jclass,
    how: (Linking, SentAs),
) {
    if class.announced.to(agent) || class.is_own() {
        return;
    }
    jni.frame(8, |jni| {
        let superclass = jni.superclass(object);
        if !superclass.is_null()
            && let Ok(record) = classes::of(jni, superclass)
        {
            announce_object(jni, agent, thread, &record, superclass, how);
        }
    });
    let (linking, sent_as) = how;
    let link = || sent_as != SentAs::OfVm && classes::link_if(jni, object, linking);
    if !class.is_linked(object, link) {
        return;
    }
    let _passage = gate::enter(thread);
    announcements::once(&class.announced, agent, || {
        let definition = jni.frame(32, |_| Definition::of(object));
        match definition {
            Ok(mut definition) => {
                let u = definition.event(agent, class);
                send(jni, agent, thread, class, sent_as, u);
            }
            Err(error) => log::warn!(
                "class {:?} cannot be announced: {error}",
                class.name(agent.options().names)
            ),
        }
    });
}

fn send(
    jni: Jni,
    agent: &Agent,
    thread: &Thread,
    class: &Class,
    sent_as: SentAs,
    u: JVMPI_Event_class_load,
) {
    const TYPE: jint = JVMPI_EVENT_CLASS_LOAD;
    let is_wanted = agent.options().classload == ClassLoad::Load;
    match (sent_as, loaded_by(class).filter(|_| is_wanted)) {
        (SentAs::Requested, _) => {
            let _ = notify::request(agent, thread, TYPE, u);
        }
        (SentAs::OfVm, _) => {
            let named = threads::known_to(agent).map_or(thread.env(), |named| named.env());
            notify::deliver_for_vm(agent, thread, (named, None), TYPE, u);
        }
        (SentAs::Event, Some(loader)) => send::to_as(jni, agent, thread, &loader, TYPE, u),
        (SentAs::Event, None) => {
            send::to(jni, agent, thread, TYPE, u);
        }
    }
}

/// Returns the thread that has loaded the class, if it is known and still exists.
fn loaded_by(class: &Class) -> Option<Arc<Thread>> {
    let (env, id) = *class.loaded_by.get()?;
    threads::by_env(ptr::without_provenance_mut(env)).filter(|thread| thread.id().addr() == id)
}

/// Answers RequestEvent(CLASS_LOAD). Returns false if the ID is not that of a loaded class.
pub fn request(jni: Jni, agent: &Agent, thread: &Thread, id: jobjectID) -> bool {
    jni.frame(32, |jni| {
        let find = || lookup::object(jni, id).filter(|object| is_class(jni, *object));
        // Finding an object by its ID takes a search of all IDs.
        let known = classes::by_id(id).and_then(|class| class.object(jni));
        let Some(object) = known.or_else(find) else { return false };
        let Ok(class) = classes::of(jni, object) else { return false };
        // A class from a CDS archive, for example, may be unlinked.
        if !class::is_ready(object) {
            classes::link(jni, object);
        }
        let Ok(mut definition) = Definition::of(object) else { return false };
        class.announced.mark(agent);
        let u = definition.event(agent, &class);
        notify::request(agent, thread, JVMPI_EVENT_CLASS_LOAD, u)
    })
}

fn is_class(jni: Jni, object: jni_sys::jobject) -> bool {
    jni.find_class(c"java/lang/Class").is_some_and(|class| jni.instance_of(object, class))
}

/// The contents of CLASS_LOAD for a linked class.
struct Definition {
    source: CString,
    interfaces: usize,
    methods: Vec<(CString, CString, (jint, jint), jmethodID)>,
    statics: Vec<jvm::Field>,
    instances: Vec<jvm::Field>,
    /// The arrays of the event, which point to the strings above.
    arrays: (Vec<JVMPI_Method>, Vec<JVMPI_Field>, Vec<JVMPI_Field>),
}

impl Definition {
    fn of(object: jclass) -> Result<Self> {
        let jvmti = jvm::get().jvmti;
        let method_ids = jvmti.class_methods(object)?;
        let mut methods = Vec::with_capacity(method_ids.len());
        for method in method_ids.iter() {
            let (name, signature) = jvmti.method_name(*method)?;
            methods.push((name, signature, Lines::of(jvmti, *method).range(), *method));
        }
        let (mut statics, mut instances) = (Vec::new(), Vec::new());
        for field in jvmti.class_fields(object)?.iter() {
            let is_static = jvmti.is_static(object, *field)?;
            let list = if is_static { &mut statics } else { &mut instances };
            list.push(jvmti.field(object, *field)?);
        }
        Ok(Self {
            source: jvmti.source_file(object).unwrap_or_default(),
            interfaces: jvmti.interfaces(object)?.len(),
            methods,
            statics,
            instances,
            arrays: Default::default(),
        })
    }

    /// Returns the event, which points into the definition.
    fn event(&mut self, agent: &Agent, class: &Class) -> JVMPI_Event_class_load {
        let field = |field: &jvm::Field| JVMPI_Field {
            field_name: field.name.as_ptr().cast_mut(),
            field_signature: field.signature.as_ptr().cast_mut(),
        };
        let method =
            |(name, signature, lines, id): &(CString, CString, (jint, jint), jmethodID)| {
                JVMPI_Method {
                    method_name: name.as_ptr().cast_mut(),
                    method_signature: signature.as_ptr().cast_mut(),
                    start_lineno: lines.0,
                    end_lineno: lines.1,
                    method_id: *id,
                }
            };
        self.arrays = (
            self.methods.iter().map(method).collect(),
            self.statics.iter().map(field).collect(),
            self.instances.iter().map(field).collect(),
        );
        let (methods, statics, instances) = &mut self.arrays;
        JVMPI_Event_class_load {
            class_name: class.name(agent.options().names).as_ptr().cast_mut(),
            source_name: self.source.as_ptr().cast_mut(),
            num_interfaces: self.interfaces as jint,
            num_methods: methods.len() as jint,
            methods: methods.as_mut_ptr(),
            num_static_fields: statics.len() as jint,
            statics: statics.as_mut_ptr(),
            num_instance_fields: instances.len() as jint,
            instances: instances.as_mut_ptr(),
            class_id: class.id(),
        }
    }
}
