//! Puts the layers that the settings ask for between an agent and its table.

use crate::records::agents::{Agent, MAX_AGENTS};
use jvmpi_layers::check::Check;
use jvmpi_layers::layer;
use jvmpi_layers::trace::Recorder;
use jvmpi_sys::JVMPI_Interface;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

const _: () = assert!(layer::SLOTS == MAX_AGENTS, "an agent's index selects its slot");

/// Returns the table for the agent: its own, under the layers that the settings ask for.
pub fn topmost_table(agent: &Agent) -> *mut JVMPI_Interface {
    static TOPMOST: [OnceLock<AtomicPtr<JVMPI_Interface>>; MAX_AGENTS] =
        [const { OnceLock::new() }; MAX_AGENTS];
    let mut is_new = false;
    let make = || {
        is_new = true;
        AtomicPtr::new(checked(agent, recorded(agent, agent.interface())))
    };
    let table = TOPMOST[agent.index].get_or_init(make).load(Ordering::Relaxed);
    if is_new {
        layer::begin::<Check>(agent.index);
    }
    table
}

/// Puts checked mode on the table, if the agent's settings ask for it.
fn checked(agent: &Agent, table: *mut JVMPI_Interface) -> *mut JVMPI_Interface {
    let check = agent.options().check;
    if check == jvmpi_settings::Check::Off {
        return table;
    }
    let check = Check::new(agent.path(), agent.index, check == jvmpi_settings::Check::Abort);
    // SAFETY: the table below is never freed, and the agent gets the upper one instead.
    unsafe { layer::put_on(check, agent.index, table) }.unwrap_or(table)
}

/// Puts the recorder on the table, if the agent's settings ask for it.
fn recorded(agent: &Agent, table: *mut JVMPI_Interface) -> *mut JVMPI_Interface {
    let Some(path) = agent.options().trace.path() else { return table };
    let library = agent.path().to_string_lossy();
    match Recorder::start(agent.index, path, &library, jvm::get().name_and_version()) {
        // SAFETY: the table is the shim's, is never freed, and the agent has not received it yet.
        Ok(recorder) => unsafe { layer::put_on(recorder, agent.index, table) }.unwrap_or(table),
        Err(message) => {
            log::error!("{message}");
            table
        }
    }
}
