//! What it takes that virtual threads are threads of their own: the VM reports where they run.

use super::threads;
use crate::jvm::{self, capabilities, virtual_env};
use crate::world::threads::virtual_thread;
use jvmti_sys::{JVMTI_EVENT_VIRTUAL_THREAD_END, JVMTI_EVENT_VIRTUAL_THREAD_START};

/// Has the VM report them from now on. Where it cannot, they belong to their carriers.
pub fn start() {
    if !virtual_env::IS_AVAILABLE {
        log::warn!(
            "virtual=own is not possible on this machine: virtual threads belong to their carriers"
        );
        return;
    }
    match ask() {
        Ok(()) => virtual_thread::make_threads(),
        Err(error) => log::warn!(
            "virtual=own needs JDK 21 or later ({error}): virtual threads belong to their carriers"
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
