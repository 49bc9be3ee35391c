//! Loads the library of an agent that a recording is replayed into.

use jvmpi_sys::{JVM_OnLoad, JVM_OnUnload};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use std::mem::ManuallyDrop;
use std::path::Path;

/// Loads the library of an agent, and returns its JVM_OnLoad and JVM_OnUnload. The library stays loaded even if the
/// replay fails: threads of the agent may run in it.
pub fn open(path: &Path) -> Result<(JVM_OnLoad, Option<JVM_OnUnload>), String> {
    // SAFETY: runs the initializers of the library that the user has named.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
    let library = ManuallyDrop::new(library.map_err(|error| {
        let message = match error {
            libloading::Error::DlOpen { source } => source.to_string(),
            other => other.to_string(),
        };
        // The message usually begins with the path, which the caller adds.
        let prefix = format!("{}: ", path.display());
        message.strip_prefix(&prefix).unwrap_or(&message).to_owned()
    })?);
    // SAFETY: the types are the ones that the interface prescribes for symbols of these names, which may be NULL.
    let (on_load, on_unload) = unsafe {
        let on_load = library.get::<Option<JVM_OnLoad>>("JVM_OnLoad");
        let on_load = on_load.or_else(|_| library.get("jvmpi_OnLoad"));
        (on_load, library.get::<Option<JVM_OnUnload>>("JVM_OnUnload"))
    };
    let on_unload = on_unload.ok().and_then(|symbol| *symbol);
    match on_load.ok().and_then(|symbol| *symbol) {
        Some(on_load) => Ok((on_load, on_unload)),
        None => Err("it has no function JVM_OnLoad".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jvmpi_settings::library::testing::Directory;

    #[test]
    fn error_of_a_library_that_cannot_be_loaded_has_the_reason() {
        assert_eq!(
            open(Path::new("/nowhere/libagent.so")).err().as_deref(),
            Some("cannot open shared object file: No such file or directory")
        );
    }

    /// Builds an agent whose entry point is an indirect function. The function that chooses its implementation chooses
    /// none, so `dlsym` finds the symbol and returns NULL.
    #[test]
    fn library_whose_on_load_is_null_is_rejected() {
        let directory = Directory::new("replay-null");
        let text = "static int (*none(void))(void) { return 0; }\n\
                    int JVM_OnLoad(void) __attribute__((ifunc(\"none\")));\n";
        let opened = open(&directory.library("libagent.so", text));
        assert_eq!(opened.err().as_deref(), Some("it has no function JVM_OnLoad"));
    }
}
