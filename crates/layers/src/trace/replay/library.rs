//! Loads the library of an agent that a recording is replayed into.

use jvm::platform::dynamic_loader::Opened;
use jvmpi_sys::{JVM_OnLoad, JVM_OnUnload};
use std::ffi::c_void;
use std::mem;
use std::path::Path;
use std::ptr::NonNull;

/// Loads the library of an agent, and returns its JVM_OnLoad and JVM_OnUnload. The library stays loaded even if the
/// replay fails: threads of the agent may run in it.
pub fn open(path: &Path) -> Result<(JVM_OnLoad, Option<JVM_OnUnload>), String> {
    // SAFETY: runs the initializers of the library that the user has named.
    let library = unsafe { Opened::open(path.as_os_str()) }.map_err(|message| {
        let message = message.to_string_lossy();
        // The message usually begins with the path, which the caller adds.
        let prefix = format!("{}: ", path.display());
        message.strip_prefix(&prefix).unwrap_or(&message).to_owned()
    })?;
    let on_load = library.symbol(c"JVM_OnLoad").or_else(|| library.symbol(c"jvmpi_OnLoad"));
    let on_load = on_load.ok_or("it has no function JVM_OnLoad")?;
    let on_unload = library.symbol(c"JVM_OnUnload");
    // SAFETY: the types are the ones that the interface prescribes for symbols of these names.
    Ok(unsafe {
        (
            mem::transmute::<NonNull<c_void>, JVM_OnLoad>(on_load),
            on_unload.map(|symbol| mem::transmute::<NonNull<c_void>, JVM_OnUnload>(symbol)),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_of_a_library_that_cannot_be_loaded_has_the_reason() {
        assert_eq!(
            open(Path::new("/nowhere/libagent.so")).err().as_deref(),
            Some("cannot open shared object file: No such file or directory")
        );
    }
}
