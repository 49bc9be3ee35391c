//! THREAD_START and THREAD_END.

use super::{announce, classes};
use crate::gc::lookup;
use crate::notify::Delivery;
use crate::records::agents::{self, Agent};
use crate::suspension::cpu_samples;
use crate::threads::{self, Thread};
use jni_sys::JNIEnv;
use jvm::Jni;
use jvm::boundary::callback;
use jvm::types::{jthread, jvmtiEnv};
use jvmpi_sys::{JVMPI_EVENT_THREAD_END, jobjectID};

pub unsafe extern "system" fn thread_start(_: *mut jvmtiEnv, env: *mut JNIEnv, _: jthread) {
    let start = |jni| {
        let thread = threads::started(jni);
        cpu_samples::thread_started(&thread);
        for agent in agents::all() {
            announce::thread(jni, agent, &thread, &thread);
        }
    };
    // SAFETY: JVMTI passes the environment of the thread that starts, which runs this.
    unsafe { callback(env, start) };
}

pub unsafe extern "system" fn thread_end(_: *mut jvmtiEnv, env: *mut JNIEnv, _: jthread) {
    let end = |jni| {
        let thread = threads::current(jni);
        cpu_samples::thread_ended(&thread);
        send_end(jni, &thread);
        threads::ended(&thread);
    };
    // SAFETY: JVMTI passes the environment of the thread that ends, which runs this.
    unsafe { callback(env, end) };
}

/// Sends THREAD_END. An agent that has got it gets no further event of the thread, which the next agent may cause.
fn send_end(jni: Jni, thread: &Thread) {
    classes::announce_loaded(jni, thread);
    let Some(delivery) = Delivery::begin(thread, JVMPI_EVENT_THREAD_END) else { return };
    for agent in delivery.agents().iter() {
        announce::send_in(jni, &delivery, agent, ());
        thread.announced.withdraw(agent);
        thread.short_cut.forbid();
    }
}

pub unsafe extern "system" fn virtual_thread_start(
    _: *mut jvmtiEnv,
    env: *mut JNIEnv,
    object: jthread,
) {
    let start = |jni| {
        let Some(thread) = threads::mounted(jni, object) else { return };
        for agent in agents::all() {
            announce::thread(jni, agent, &thread, &thread);
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
        send_end(jni, &thread);
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

/// Answers RequestEvent(THREAD_START). Returns false if the ID is not that of a live platform
/// thread.
pub fn request(jni: Jni, agent: &Agent, current: &Thread, id: jobjectID) -> bool {
    let named = jni.frame(16, |jni| {
        threads::by_id(id).or_else(|| threads::discover(jni, lookup::object(jni, id)?))
    });
    named.is_some_and(|named| announce::thread_as_requested(jni, agent, current, &named))
}
