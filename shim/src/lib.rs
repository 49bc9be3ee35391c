//! `libjvmpi.so`: lets an unmodified JVMPI profiler agent run on JDK 11 and later.
//!
//! This file has the exported symbols. An event has one path: from a JVMTI callback in `translate`, which looks up
//! IDs in the modules below, to `notify`, which calls the agent. A call by an agent has one path: from `table` to
//! the modules below. `docs/explanation/architecture.md` has the modules and their order.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod classes;
mod dumps;
mod gc;
mod instrument;
mod load;
#[cfg(feature = "model")]
mod models;
mod notify;
mod records;
mod suspension;
mod sync;
mod table;
mod threads;
mod translate;

#[cfg(all(feature = "model", not(test)))]
compile_error!("with the feature `model` only the unit tests can be built");

use jni_sys::{JNI_ERR, JNI_OK, JavaVM, jint};
use jvm::boundary::guard;
use jvmpi_sys::JVMPI_Interface;
use std::ffi::{c_char, c_void};

#[cfg(all(debug_assertions, not(test)))]
#[global_allocator]
static CHECKED: jvm::suspending::Checked = jvm::suspending::Checked;

/// JVMTI's entry point for `-agentpath:/path/libjvmpi.so[=agent[:options]]`.
///
/// # Safety
/// JVMTI calls this with valid arguments.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnLoad(
    vm: *mut JavaVM,
    options: *const c_char,
    _reserved: *mut c_void,
) -> jint {
    // SAFETY: JVMTI passes the VM, and NULL or a string.
    guard(JNI_ERR, || unsafe { load::at_start(vm, options) })
}

/// JVMTI's entry point for a running VM: `jcmd PID JVMTI.agent_load /path/libjvmpi.so "agent:options"`.
///
/// # Safety
/// JVMTI calls this with valid arguments.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnAttach(
    vm: *mut JavaVM,
    options: *const c_char,
    _reserved: *mut c_void,
) -> jint {
    // SAFETY: JVMTI passes the VM, and NULL or a string.
    guard(JNI_ERR, || unsafe { load::at_attach(vm, options) })
}

/// Called by JVMTI when the VM ends.
///
/// # Safety
/// JVMTI calls this with valid arguments.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnUnload(_vm: *mut JavaVM) {
    guard((), load::at_end);
}

jvm::with_return_address! {
    /// Returns the JVMPI interface to a program that embeds the VM; see `jvmpi.h`.
    ///
    /// # Safety
    /// `vm` is the JVM of this process, and `interface` is NULL or may be written.
    #[unsafe(no_mangle)]
    pub fn jvmpi_get_interface(vm: *mut JavaVM, version: jint, interface: *mut *mut JVMPI_Interface) -> jint
        => get_interface_for;
}

unsafe extern "system" fn get_interface_for(
    vm: *mut JavaVM,
    version: jint,
    interface: *mut *mut JVMPI_Interface,
    caller: *const c_void,
) -> jint {
    if vm.is_null() || interface.is_null() {
        return JNI_ERR;
    }
    // SAFETY: the caller passes the VM of this process.
    let (result, table) = match guard(Err(JNI_ERR), || unsafe { load::embed(vm, version, caller) })
    {
        Ok(table) => (JNI_OK, table),
        Err(code) => (code, std::ptr::null_mut()),
    };
    // SAFETY: `interface` is not NULL, so the caller promises that it may be written.
    unsafe { interface.write(table.cast()) };
    result
}
