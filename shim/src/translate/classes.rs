//! CLASS_LOAD. (CLASS_UNLOAD is in `collection`.)

use super::announce::{self, ClassFor};
use super::definitions::ClassDefinition;
use crate::classes::{self, Linking, definitions};
use crate::gc::lookup;
use crate::instrument::{self, class_files};
use crate::notify;
use crate::records::agents::{self, Agent};
use crate::records::class::{self, Class};
use crate::sync::vm_locks;
use crate::threads::{self, Thread};
use jni_sys::jclass;
use jvm::Jni;
use jvm::types::jthread;
use jvmpi_sys::{JVMPI_EVENT_CLASS_LOAD, jobjectID};

jvm::callbacks! {
    pub fn class_load(_thread: jthread, class: jclass) => |jni: Jni, _, class| jni.frame(16, |jni| load(jni, class));
    pub fn class_prepare(_thread: jthread, class: jclass) => |jni: Jni, _, class| jni.frame(16, |jni| define(jni, class));
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
                announce::class(jni, agent, thread, class, ClassFor::Event(Linking::Any));
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
            announce::class(jni, agent, thread, &class, ClassFor::EVENT);
        }
    }
}

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
                announce::class(jni, agent, &thread, &record, ClassFor::Event(Linking::Boot));
            }
        }
        Err(error) => log::debug!("a class is not announced: {error}"),
    }
}

/// Announces every loaded class that is linked, or may be linked for this purpose.
pub fn announce_all(jni: Jni, agent: &Agent, thread: &Thread, purpose: ClassFor) {
    match classes::all_loaded(jni) {
        Ok(loaded) => loaded.iter().for_each(|class| {
            announce::class(jni, agent, thread, class, purpose);
        }),
        Err(error) => log::warn!("loaded classes are not announced: {error}"),
    }
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
        let Ok(mut definition) = ClassDefinition::of(object) else { return false };
        class.announced.mark(agent);
        let u = definition.event(agent, &class);
        notify::request(agent, thread, JVMPI_EVENT_CLASS_LOAD, u)
    })
}

fn is_class(jni: Jni, object: jni_sys::jobject) -> bool {
    jni.find_class(c"java/lang/Class").is_some_and(|class| jni.instance_of(object, class))
}
