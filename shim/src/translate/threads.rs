//! THREAD_START and THREAD_END.

use super::callback::callback;
use super::{classes, objects, send};
use crate::gc::lookup;
use crate::jvm::{self, Jni};
use crate::notify::{self, Delivery};
use crate::records::agents::{self, Agent};
use crate::suspension::cpu_samples;
use crate::sync::announcements;
use crate::threads::{self, Thread};
use jni_sys::{JNIEnv, jobject};
use jvmpi_jvmti_sys::{jthread, jvmtiEnv};
use jvmpi_sys::{
    JVMPI_EVENT_THREAD_END, JVMPI_EVENT_THREAD_START, JVMPI_Event_thread_start, jobjectID,
};
use std::ffi::CString;

pub unsafe extern "system" fn thread_start(_: *mut jvmtiEnv, env: *mut JNIEnv, _: jthread) {
    let start = |jni| {
        let thread = threads::started(jni);
        cpu_samples::thread_started(&thread);
        for agent in agents::all() {
            announce(jni, agent, &thread, &thread);
        }
    };
    // SAFETY: JVMTI passes the environment of the thread that starts, which runs this.
    unsafe { callback(env, start) };
}

pub unsafe extern "system" fn thread_end(_: *mut jvmtiEnv, env: *mut JNIEnv, _: jthread) {
    let end = |jni| {
        let thread = threads::current(jni);
        cpu_samples::thread_ended(&thread);
        classes::announce_loaded(jni, &thread);
        send::to_all(jni, &thread, JVMPI_EVENT_THREAD_END, ());
        threads::ended(&thread);
    };
    // SAFETY: JVMTI passes the environment of the thread that ends, which runs this.
    unsafe { callback(env, end) };
}

pub unsafe extern "system" fn virtual_thread_start(
    _: *mut jvmtiEnv,
    env: *mut JNIEnv,
    object: jthread,
) {
    let start = |jni| {
        let Some(thread) = threads::mounted(jni, object) else { return };
        for agent in agents::all() {
            announce(jni, agent, &thread, &thread);
        }
    };
    // SAFETY: JVMTI passes the environment of the carrier, which runs this.
    unsafe { callback(env, start) };
}

pub unsafe extern "system" fn virtual_thread_end(
    _: *mut jvmtiEnv,
    env: *mut JNIEnv,
    object: jthread,
) {
    let end = |jni| {
        // The VM has already reported that the thread leaves its carrier.
        let Some(thread) = threads::mounted(jni, object) else { return };
        classes::announce_loaded(jni, &thread);
        send::to_all(jni, &thread, JVMPI_EVENT_THREAD_END, ());
        threads::virtual_ended(jni, &thread);
    };
    // SAFETY: as above.
    unsafe { callback(env, end) };
}

pub unsafe extern "system" fn virtual_thread_mount(
    _: *mut jvmtiEnv,
    env: *mut JNIEnv,
    object: jthread,
) {
    let mount = |jni| {
        threads::mounted(jni, object);
    };
    // SAFETY: as above.
    unsafe { callback(env, mount) };
}

pub unsafe extern "system" fn virtual_thread_unmount(
    _: *mut jvmtiEnv,
    env: *mut JNIEnv,
    _: jthread,
) {
    // SAFETY: as above.
    unsafe { callback(env, threads::unmounted) };
}

/// Sends THREAD_START for `current_object` to an agent that has enabled the event and has not received it
/// for this thread. `current` is the current thread.
pub fn announce(jni: Jni, agent: &Agent, current: &Thread, current_object: &Thread) {
    if current_object.announced.to(agent)
        || current_object.is_hidden()
        || current_object.id().is_null()
    {
        return;
    }
    let delivery = Delivery::begin_to(agent, current, JVMPI_EVENT_THREAD_START);
    let Some(delivery) = delivery else { return };
    announcements::once(&current_object.announced, agent, || {
        if let Some(object) = current_object.object() {
            // THREAD_START is sent even if the object could not be announced.
            let _ = objects::announce(jni, agent, current, object.get());
        }
        let definition = jni.frame(16, |_| Definition::of(current_object));
        if let Some(definition) = definition {
            send::with(jni, &delivery, agent, definition.event());
        }
    });
}

/// Answers RequestEvent(THREAD_START). Returns false if the ID is not that of a live platform
/// thread.
pub fn request(jni: Jni, agent: &Agent, current: &Thread, id: jobjectID) -> bool {
    let current_object = jni.frame(16, |jni| {
        threads::by_id(id).or_else(|| threads::discover(jni, lookup::object(jni, id)?))
    });
    current_object.is_some_and(|current_object| define(jni, agent, current, &current_object))
}

/// Sends THREAD_START to an agent as if it had requested it. Returns false if the thread is hidden
/// from agents, or if the thread or the VM has ended.
pub fn define(jni: Jni, agent: &Agent, current: &Thread, current_object: &Thread) -> bool {
    let definition = jni.frame(16, |_| {
        if current_object.is_hidden() {
            return None;
        }
        let definition = Definition::of(current_object)?;
        current_object.announced.mark(agent);
        Some(definition)
    });
    let Some(definition) = definition else { return false };
    notify::request(agent, current, JVMPI_EVENT_THREAD_START, definition.event())
}

/// The contents of THREAD_START. Names are never NULL, because agents pass them to `strlen`.
struct Definition {
    name: CString,
    group: CString,
    parent: CString,
    id: jobjectID,
    env: *mut JNIEnv,
}

impl Definition {
    fn of(thread: &Thread) -> Option<Self> {
        let object = thread.object()?;
        let info = jvm::get().jvmti.thread_info(object.get()).ok()?;
        let group = |group: jobject| {
            if group.is_null() { None } else { jvm::get().jvmti.group_info(group).ok() }
        };
        let own = group(info.group);
        let parent = own.as_ref().and_then(|own| group(own.parent));
        Some(Self {
            name: info.name,
            group: own.map(|group| group.name).unwrap_or_default(),
            parent: parent.map(|group| group.name).unwrap_or_default(),
            id: thread.id(),
            env: thread.env(),
        })
    }

    fn event(&self) -> JVMPI_Event_thread_start {
        JVMPI_Event_thread_start {
            thread_name: self.name.as_ptr().cast_mut(),
            group_name: self.group.as_ptr().cast_mut(),
            parent_name: self.parent.as_ptr().cast_mut(),
            thread_id: self.id,
            thread_env_id: self.env,
        }
    }
}
