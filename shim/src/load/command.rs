//! Commands to loaded agents. A command is an attach to a running VM in which the shim's option string begins with
//! `!` in place of an agent's name.

use crate::records::agents;
use crate::translate::lifecycle;
use std::ffi::{CStr, c_char};

/// Returns the command in the shim's option string, if it is one.
///
/// # Safety
/// `text` is NULL or a NUL-terminated string.
pub unsafe fn of(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: as the caller promises.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    text.strip_prefix('!').map(String::from)
}

/// Returns the settings that a command sets before the shim starts.
pub fn settings(command: &str) -> Option<&str> {
    command.strip_prefix("set ")
}

/// Runs the command.
///
/// # Errors
/// Returns the reason in one line if no agent is loaded or the command is unknown.
pub fn run(command: &str) -> Result<(), String> {
    if agents::all().is_empty() {
        return Err(format!("!{command}: no agent is loaded"));
    }
    match command {
        "reset" => lifecycle::request_reset(),
        _ => return Err(format!("!{command} is unknown; there are !reset and !set KEY=VALUE")),
    }
    Ok(())
}
