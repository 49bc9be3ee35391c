//! THREAD_START and THREAD_END; virtual threads as JVMPI threads of their own, whose mounts and unmounts the VM reports, and
//! the log message that recommends this setting.

use super::{announce, classes};
use crate::gc::lookup;
use crate::notify::Delivery;
use crate::records::agents::{self, Agent};
use crate::records::virtual_thread;
use crate::suspension::cpu_samples;
use crate::threads::{self, Thread};
use jvm::types::{JVMTI_EVENT_VIRTUAL_THREAD_END, JVMTI_EVENT_VIRTUAL_THREAD_START, jthread};
use jvm::{Jni, capabilities, virtual_env};
use jvmpi_sys::*;
use std::sync::atomic::{AtomicBool, Ordering};

jvm::callbacks! {
    pub fn thread_start(_thread: jthread) => |jni, _| started(jni);
    pub fn thread_end(_thread: jthread) => |jni, _| ended(jni);
    pub fn virtual_thread_start(thread: jthread) => virtual_started;
    pub fn virtual_thread_end(thread: jthread) => virtual_ended;
    fn virtual_thread_mount(thread: jthread) => |jni, thread| _ = threads::mounted(jni, thread);
    fn virtual_thread_unmount(_thread: jthread) => |jni, _| threads::unmounted(jni);
}

fn started(jni: Jni) {
    let thread = threads::started(jni);
    cpu_samples::thread_started(&thread);
    announce_to_all(jni, &thread);
}

fn announce_to_all(jni: Jni, thread: &Thread) {
    for agent in agents::all() {
        announce::thread(jni, agent, thread, thread);
    }
}

fn ended(jni: Jni) {
    let thread = threads::current(jni);
    cpu_samples::thread_ended(&thread);
    send_end(jni, &thread);
    threads::ended(&thread);
}

fn virtual_started(jni: Jni, object: jthread) {
    if let Some(thread) = threads::mounted(jni, object) {
        announce_to_all(jni, &thread);
    }
}

fn virtual_ended(jni: Jni, object: jthread) {
    // The VM has already reported that the thread leaves its carrier.
    if let Some(thread) = threads::mounted(jni, object) {
        send_end(jni, &thread);
        threads::virtual_ended(jni, &thread);
    }
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

/// Answers RequestEvent(THREAD_START). Returns false if the ID is not that of a live platform
/// thread.
pub fn request(jni: Jni, agent: &Agent, current: &Thread, id: jobjectID) -> bool {
    let named = jni.frame(16, |jni| {
        threads::by_id(id).or_else(|| threads::discover(jni, lookup::object(jni, id)?))
    });
    named.is_some_and(|named| announce::thread_as_requested(jni, agent, current, &named))
}

/// Enables the VM's events for virtual threads. If the VM has none, virtual threads belong to their carriers.
pub fn start_virtual() {
    if !virtual_env::IS_AVAILABLE {
        log::warn!(
            "virtual=own is not possible on this machine: events of virtual threads are those of their carriers"
        );
        return;
    }
    match enable_virtual() {
        Ok(()) => virtual_thread::make_threads(),
        Err(error) => log::warn!(
            "virtual=own needs JDK 21 or later ({error}): events of virtual threads are those of their carriers"
        ),
    }
}

fn enable_virtual() -> jvm::Result<()> {
    let jvmti = jvm::get().jvmti;
    capabilities::take_virtual_threads(jvmti)?;
    jvmti.set_virtual_thread_callback(
        c"com.sun.hotspot.events.VirtualThreadMount",
        virtual_thread_mount,
    )?;
    jvmti.set_virtual_thread_callback(
        c"com.sun.hotspot.events.VirtualThreadUnmount",
        virtual_thread_unmount,
    )?;
    for event in [JVMTI_EVENT_VIRTUAL_THREAD_START, JVMTI_EVENT_VIRTUAL_THREAD_END] {
        jvmti.set_notification(event, true)?;
    }
    Ok(())
}

/// Handles the beginning or the end of a virtual thread's transition, reported by rewritten code of the scheduler.
pub fn transition(jni: Jni, begins: bool) {
    if begins {
        warn_of_calls(jni);
    }
    threads::current(jni).note_transition(begins);
}

/// Logs one warning when a virtual thread first leaves its carrier while an agent gets method entries or exits.
fn warn_of_calls(jni: Jni) {
    static SAID: AtomicBool = AtomicBool::new(false);
    const CALLS: [i32; 3] =
        [JVMPI_EVENT_METHOD_ENTRY, JVMPI_EVENT_METHOD_ENTRY2, JVMPI_EVENT_METHOD_EXIT];
    let is_of_no_use = SAID.load(Ordering::Relaxed)
        || virtual_thread::are_threads()
        || !virtual_env::IS_AVAILABLE
        || !CALLS.into_iter().any(agents::anyone_wants);
    if is_of_no_use {
        return;
    }
    let leaves = jni.frame(4, |jni| {
        jvm::get().jvmti.current_thread().is_ok_and(|current| jni.is_virtual(current))
    });
    if leaves && !SAID.swap(true, Ordering::Relaxed) {
        log::warn!(
            "the calls of virtual threads are reported on their carriers, where entries and exits need not nest: \
             an agent that keeps a stack for each thread needs the setting virtual=own"
        );
    }
}
