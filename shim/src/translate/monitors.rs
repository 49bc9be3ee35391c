//! MONITOR_CONTENDED_ENTER and ENTERED, MONITOR_WAIT and WAITED.

use super::{callback, objects};
use crate::jvm::{self, Jni};
use crate::notify::{self, Arm};
use crate::world::threads::{self, Thread};
use crate::world::{agents, gate};
use jni_sys::{JNIEnv, jboolean, jint, jlong, jobject};
use jvmpi_sys::{
    JVMPI_EVENT_MONITOR_CONTENDED_ENTER, JVMPI_EVENT_MONITOR_CONTENDED_ENTERED,
    JVMPI_EVENT_MONITOR_WAIT, JVMPI_EVENT_MONITOR_WAITED, JVMPI_EVENT_THREAD_START,
    JVMPI_Event_monitor, JVMPI_Event_monitor_wait, jobjectID,
};
use jvmti_sys::{jthread, jvmtiEnv};

pub unsafe extern "system" fn monitor_contended_enter(
    _: *mut jvmtiEnv,
    env: *mut JNIEnv,
    waiting: jthread,
    object: jobject,
) {
    let enter = |jni| {
        let thread = threads::current(jni);
        if is_reported(&thread) && blocks(jni, waiting) {
            thread.waits.enter();
            tell(jni, &thread, JVMPI_EVENT_MONITOR_CONTENDED_ENTER, object, monitor);
        }
    };
    // SAFETY: JVMTI passes the environment of the thread that waits, which runs this.
    unsafe { callback(env, enter) };
}

pub unsafe extern "system" fn monitor_contended_entered(
    _: *mut jvmtiEnv,
    env: *mut JNIEnv,
    waiting: jthread,
    object: jobject,
) {
    let entered = |jni| {
        let thread = threads::current(jni);
        if is_reported(&thread) && blocks(jni, waiting) && thread.waits.entered() {
            tell(jni, &thread, JVMPI_EVENT_MONITOR_CONTENDED_ENTERED, object, monitor);
        }
    };
    // SAFETY: JVMTI passes the environment of the thread that has waited, which runs this.
    unsafe { callback(env, entered) };
}

pub unsafe extern "system" fn monitor_wait(
    _: *mut jvmtiEnv,
    env: *mut JNIEnv,
    waiting: jthread,
    object: jobject,
    timeout: jlong,
) {
    let wait = |jni| {
        let thread = threads::current(jni);
        if is_reported(&thread) && blocks(jni, waiting) {
            tell(jni, &thread, JVMPI_EVENT_MONITOR_WAIT, object, |object| {
                JVMPI_Event_monitor_wait { object, timeout }
            });
            thread.waits.begin();
        }
    };
    // SAFETY: JVMTI passes the environment of the thread that will wait, which runs this.
    unsafe { callback(env, wait) };
}

pub unsafe extern "system" fn monitor_waited(
    _: *mut jvmtiEnv,
    env: *mut JNIEnv,
    waiting: jthread,
    object: jobject,
    _timed_out: jboolean,
) {
    let waited = |jni| {
        let thread = threads::current(jni);
        if !is_reported(&thread) || !blocks(jni, waiting) {
            return;
        }
        let Some(waited) = thread.waits.end() else { return };
        let timeout = waited.as_millis() as jlong;
        tell(jni, &thread, JVMPI_EVENT_MONITOR_WAITED, object, |object| {
            JVMPI_Event_monitor_wait { object, timeout }
        });
    };
    // SAFETY: JVMTI passes the environment of the thread that has waited, which runs this.
    unsafe { callback(env, waited) };
}

/// Whether what happens on the thread that runs is told at all. Nobody can be told of a thread
/// while it is being attached, but its code may wait for monitors already.
fn is_reported(thread: &Thread) -> bool {
    let is_known = || !thread.id().is_null() || !agents::anyone_wants(JVMPI_EVENT_THREAD_START);
    !thread.is_quiet() && is_known()
}

/// Whether the platform thread that runs is what waits. A virtual thread that waits for a monitor
/// holds on to its carrier on JDK 21 only; later ones give the carrier to others meanwhile and may
/// go on with another one, so it would be wrong to say that the carrier waits.
fn blocks(jni: Jni, waiting: jthread) -> bool {
    const CARRIERS_GO_ON_SINCE: u32 = 24;
    jvm::get().feature_version() < CARRIERS_GO_ON_SINCE || !jni.is_virtual(waiting)
}

fn monitor(object: jobjectID) -> JVMPI_Event_monitor {
    JVMPI_Event_monitor { object }
}

/// Sends an event of the thread that runs about an object, which agents hear of first.
fn tell<A: Arm>(
    jni: Jni,
    thread: &Thread,
    event_type: jint,
    object: jobject,
    arm: impl Fn(jobjectID) -> A,
) {
    // The ID must not change before the event.
    let _passage = gate::enter(thread);
    for agent in agents::wanting(event_type) {
        match objects::introduce(jni, agent, thread, object) {
            Ok(id) => thread.subject.with(id, object, || {
                notify::deliver(jni, agent, thread, event_type, arm(id));
            }),
            Err(error) => log::debug!("a monitor's object stays unknown: {error}"),
        }
    }
}
