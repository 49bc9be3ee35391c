//! What the user asks of agents that are loaded: the shim's string begins with `!` in place of an
//! agent's name, in a VM that runs.

use crate::translate::lifecycle;
use crate::world::agents;
use std::ffi::{CStr, c_char};

/// The command in the shim's string, if it is one.
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

/// The settings that a command sets before the shim starts.
pub fn settings(command: &str) -> Option<&str> {
    command.strip_prefix("set ")
}

/// Does it.
///
/// # Errors
/// The reason why not, in one line.
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
