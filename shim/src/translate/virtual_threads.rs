//! Virtual threads as JVMPI threads of their own, whose mounts and unmounts the VM reports; and the log message
//! that recommends this setting.

use super::threads;
use crate::records::agents;
use crate::records::virtual_thread;
use crate::threads::current;
use jvm::types::{JVMTI_EVENT_VIRTUAL_THREAD_END, JVMTI_EVENT_VIRTUAL_THREAD_START};
use jvm::{Jni, capabilities, virtual_env};
use jvmpi_sys::{JVMPI_EVENT_METHOD_ENTRY, JVMPI_EVENT_METHOD_ENTRY2, JVMPI_EVENT_METHOD_EXIT};
use std::sync::atomic::{AtomicBool, Ordering};

/// Enables the VM's events for virtual threads. If the VM has none, virtual threads belong to their carriers.
pub fn start() {
    if !virtual_env::IS_AVAILABLE {
        log::warn!(
            "virtual=own is not possible on this machine: events of virtual threads are those of their carriers"
        );
        return;
    }
    match ask() {
        Ok(()) => virtual_thread::make_threads(),
        Err(error) => log::warn!(
            "virtual=own needs JDK 21 or later ({error}): events of virtual threads are those of their carriers"
        ),
    }
}

fn ask() -> jvm::Result<()> {
    let jvmti = jvm::get().jvmti;
    capabilities::take_virtual_threads(jvmti)?;
    jvmti.set_virtual_thread_callback(
        c"com.sun.hotspot.events.VirtualThreadMount",
        threads::virtual_thread_mount,
    )?;
    jvmti.set_virtual_thread_callback(
        c"com.sun.hotspot.events.VirtualThreadUnmount",
        threads::virtual_thread_unmount,
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
    current(jni).note_transition(begins);
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
