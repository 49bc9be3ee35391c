//! CLASS_LOAD_HOOK: agents see class files before the VM does, and may replace them.

use super::{announce, subscriptions};
use crate::classes;
use crate::instrument::class_files;
use crate::records::agents::{self, Agent, MAX_AGENTS};
use crate::records::class::TRACKER;
use crate::records::class::{Class, name_in_signature};
use crate::sync::tagging;
use crate::threads::{self, Thread};
use jni_sys::{jclass, jint, jobject};
use jvm::lock::Lock;
use jvm::types::*;
use jvm::{ClassFileLoad, Error, GlobalRef, Jni};
use jvmpi_settings::Hook;
use jvmpi_sys::{JVMPI_EVENT_CLASS_LOAD_HOOK, JVMPI_Event_class_load_hook};
use std::collections::HashSet;
use std::ffi::{CStr, c_uint, c_void};
use std::slice;
use std::sync::atomic::{AtomicBool, Ordering};

jvm::class_file_hook! {
    pub fn class_file_load_hook => show;
}

/// Sends a class file to the agents, unless a class is redefined: JVMPI has no redefinition.
fn show(jni: Jni, load: ClassFileLoad<'_>) {
    if load.name == TRACKER || class_files::is_redefined(&load) {
        return;
    }
    let (thread, name, loader) = (threads::current(jni), load.name, load.loader);
    load.replace(jvm::get().jvmti, |original| {
        note_meanwhile(name, loader);
        offer(jni, &thread, original)
    });
}

/// Sends a class file to the agents in turn, each time as the previous one has left it. Returns None if no agent
/// changed it.
fn offer(jni: Jni, thread: &Thread, original: &[u8]) -> Option<Vec<u8>> {
    let wanting = agents::wanting(JVMPI_EVENT_CLASS_LOAD_HOOK);
    wanting.fold(None, |changed: Option<Vec<u8>>, agent| {
        offer_to(jni, agent, thread, changed.as_deref().unwrap_or(original)).or(changed)
    })
}

/// Sends a class file to an agent. Returns None if the agent left it unchanged.
fn offer_to(jni: Jni, agent: &Agent, thread: &Thread, before: &[u8]) -> Option<Vec<u8>> {
    // The agent gets its own copy: some agents change the bytes in place.
    let mut bytes = before.to_vec();
    let (data, length) = (bytes.as_mut_ptr(), bytes.len() as jint);
    let u = JVMPI_Event_class_load_hook {
        class_data: data,
        class_data_len: length,
        new_class_data: data,
        new_class_data_len: length,
        malloc_f: Some(malloc_f),
    };
    let answer = announce::send(jni, agent, thread, JVMPI_EVENT_CLASS_LOAD_HOOK, u);
    let (new, new_length) = (answer.new_class_data, answer.new_class_data_len);
    if new.is_null() || new_length <= 0 {
        return None;
    }
    if new == data {
        bytes.truncate(new_length as usize);
    } else {
        // SAFETY: by the event's contract the agent got the buffer from `malloc_f`, filled
        // that many bytes of it, and leaves it to us to free.
        bytes = unsafe { slice::from_raw_parts(new, new_length as usize) }.to_vec();
        // SAFETY: as above; `malloc_f` is malloc.
        unsafe { libc::free(new.cast()) };
    }
    (bytes != before).then_some(bytes)
}

/// Allocates the memory in which agents return a class file.
unsafe extern "C" fn malloc_f(bytes: c_uint) -> *mut c_void {
    // SAFETY: malloc has no preconditions.
    unsafe { libc::malloc(bytes as usize) }
}

/// A class that is being loaded: its name, and the ID of its loader (0 for the boot loader).
type ToBe = (Vec<u8>, usize);

/// For each agent, the classes whose files it was shown while they were loaded, during its [`Replay`].
static MEANWHILE: [Lock<Option<HashSet<ToBe>>>; MAX_AGENTS] =
    [const { Lock::new(None) }; MAX_AGENTS];

/// True for each agent whose replay has begun.
static REPLAYED: [AtomicBool; MAX_AGENTS] = [const { AtomicBool::new(false) }; MAX_AGENTS];

fn to_be(name: &[u8], loader: jobject) -> ToBe {
    let loader =
        if loader.is_null() { 0 } else { tagging::id_of(loader).map_or(0, |id| id.addr()) };
    (name.to_vec(), loader)
}

/// Records, for running replays, that agents are about to be shown the file of a class that is being loaded.
fn note_meanwhile(name: &CStr, loader: jobject) {
    let wanting = || agents::wanting(JVMPI_EVENT_CLASS_LOAD_HOOK);
    if wanting().all(|agent| MEANWHILE[agent.index].lock().is_none()) {
        return;
    }
    let class = to_be(name.to_bytes(), loader);
    for agent in wanting() {
        if let Some(meanwhile) = &mut *MEANWHILE[agent.index].lock() {
            meanwhile.insert(class.clone());
        }
    }
}

/// The replay of the files of already loaded classes to an agent.
pub struct Replay {
    agent: &'static Agent,
    /// The IDs of the classes that were examined.
    done: HashSet<usize>,
}

impl Replay {
    /// Begins the replay, before the VM is asked for the files of classes being loaded. None if the agent has had its
    /// replay, if its settings exclude it, or if the current thread is reading or replacing class files.
    pub fn begin(agent: &'static Agent) -> Option<Self> {
        let is_first = agent.options().hook == Hook::Replay
            && !class_files::is_at_work()
            && !REPLAYED[agent.index].swap(true, Ordering::AcqRel);
        is_first.then(|| {
            *MEANWHILE[agent.index].lock() = Some(HashSet::new());
            Self { agent, done: HashSet::new() }
        })
    }

    /// Shows the files, once the VM sends those of new classes. The agent's changes are in effect when this returns.
    pub fn run(mut self, jni: Jni, thread: &Thread) {
        let shown = loop {
            match self.show_new(jni, thread) {
                Ok(true) => {}
                result => break result,
            }
        };
        if let Err(error) = shown {
            log::warn!("CLASS_LOAD_HOOK does not come for loaded classes: {error}");
        }
        subscriptions::catch_up();
    }

    /// Shows the files of classes not yet examined. Returns false if there were none.
    fn show_new(&mut self, jni: Jni, thread: &Thread) -> jvm::Result<bool> {
        let mut all = classes::all_loaded(jni)?;
        all.retain(|class| self.done.insert(class.id().addr()));
        let is_new = !all.is_empty();
        let mut changed = Vec::new();
        // Classes are shown in load order; JVMTI returns the newest first.
        for class in all.into_iter().rev() {
            // The agent's handler may disable the event.
            if !self.agent.wants(JVMPI_EVENT_CLASS_LOAD_HOOK) {
                break;
            }
            jni.frame(8, |jni| {
                let Some(object) = class.object(jni) else { return };
                let file = self.file_of(jni, &class, object);
                let file = file.and_then(|file| offer_to(jni, self.agent, thread, &file));
                if let Some((file, object)) = file.zip(GlobalRef::new(jni, object)) {
                    changed.push((object, file));
                }
            });
        }
        self.install(&changed)?;
        Ok(is_new)
    }

    fn file_of(&self, jni: Jni, class: &Class, object: jclass) -> Option<Vec<u8>> {
        let jvmti = jvm::get().jvmti;
        if class.is_own() || !jvmti.is_modifiable(object) {
            return None;
        }
        let class = to_be(class.internal_name(), jvmti.class_loader(object).ok()?);
        let is_shown = |meanwhile: &HashSet<ToBe>| meanwhile.contains(&class);
        if MEANWHILE[self.agent.index].lock().as_ref().is_some_and(is_shown) {
            return None;
        }
        class_files::read(jni, object)
    }

    /// Passes the class files that the agent has changed to the VM.
    fn install(&self, changed: &[(GlobalRef, Vec<u8>)]) -> jvm::Result<()> {
        if changed.is_empty() {
            return Ok(());
        }
        log::debug!(
            "{} has changed {} classes that were loaded",
            self.agent.path().display(),
            changed.len()
        );
        let files: Vec<_> = changed.iter().map(|(class, file)| (class.get(), &file[..])).collect();
        class_files::replace(&files, |class, error| {
            let signature = jvm::get().jvmti.class_signature(class).unwrap_or_default();
            let name =
                String::from_utf8_lossy(name_in_signature(signature.to_bytes())).into_owned();
            let agent = self.agent.path().display();
            log::warn!("{name} stays as it is: the class file from {agent} {}", objection(error));
        })
    }

    /// Cancels the replay because the event was not switched on. The agent may get the files when it enables it again.
    pub fn abandon(self) {
        REPLAYED[self.agent.index].store(false, Ordering::Release);
    }
}

/// Describes why the VM refuses to replace a class file.
fn objection(error: Error) -> String {
    let what = match error.0 {
        JVMTI_ERROR_INVALID_CLASS_FORMAT => "is no class file",
        JVMTI_ERROR_UNSUPPORTED_VERSION => "has a version that this JVM does not know",
        JVMTI_ERROR_FAILS_VERIFICATION => "does not pass verification",
        JVMTI_ERROR_NAMES_DONT_MATCH => "has another name",
        JVMTI_ERROR_UNSUPPORTED_REDEFINITION_METHOD_ADDED => "has more methods",
        JVMTI_ERROR_UNSUPPORTED_REDEFINITION_METHOD_DELETED => "lacks methods",
        JVMTI_ERROR_UNSUPPORTED_REDEFINITION_SCHEMA_CHANGED => "has other fields",
        JVMTI_ERROR_UNSUPPORTED_REDEFINITION_HIERARCHY_CHANGED => {
            "has another superclass or other interfaces"
        }
        JVMTI_ERROR_UNSUPPORTED_REDEFINITION_CLASS_MODIFIERS_CHANGED
        | JVMTI_ERROR_UNSUPPORTED_REDEFINITION_METHOD_MODIFIERS_CHANGED => "has other access flags",
        _ => "is refused by the JVM",
    };
    format!("{what} ({error})")
}

impl Drop for Replay {
    fn drop(&mut self) {
        *MEANWHILE[self.agent.index].lock() = None;
    }
}
