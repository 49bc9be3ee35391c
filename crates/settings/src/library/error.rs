//! The errors that reject an agent library.

use super::machine::Machine;
use crate::error::one_line;
use crate::platform::{EXAMPLE, FOR_I386, SEARCH_PATH, SHIM};
use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

/// The kinds of errors that callers distinguish.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fault {
    /// The library was built for another machine than this JVM's.
    Foreign,
    /// The library exports `Agent_OnLoad` in place of `JVM_OnLoad`: it is a JVMTI agent.
    JvmtiAgent,
    /// Another one.
    Other,
}

/// The text in the message of glibc that refuses a library which wants an executable stack.
pub const EXECUTABLE_STACK: &str = "cannot enable executable stack";

/// The reason why an agent library is rejected: one line with the library, what is wrong with it, and what to do.
#[derive(Debug)]
pub struct LibraryError {
    /// The kind of error.
    pub fault: Fault,
    line: String,
}

impl LibraryError {
    pub(super) fn new(library: &Path, what: impl fmt::Display) -> Self {
        Self { fault: Fault::Other, line: one_line(&format!("{} {what}", library.display())) }
    }

    /// There is no file at this path.
    pub fn no_file(path: &Path) -> Self {
        Self::new(path, "does not exist: check the path of the agent")
    }

    /// There is no library with this file name in these directories, nor where the dynamic loader searches.
    pub fn not_found(file_name: &OsStr, search: &[PathBuf]) -> Self {
        let searched = search.iter().map(|directory| format!("{}, ", directory.display()));
        let (searched, name) = (searched.collect::<String>(), file_name.to_string_lossy());
        let options = colon_forgotten(&name)
            .map(|(name, options)| format!("; options follow a colon: {name}:{options}"));
        let what = format!(
            "is not in any of {searched}nor where the dynamic loader looks: add its directory to {SEARCH_PATH}, or \
             give its path as in -agentpath:{SHIM}={EXAMPLE}{name}{}",
            options.unwrap_or_default()
        );
        Self::new(Path::new(file_name), what)
    }

    /// The file violates the ELF or PE format.
    pub(super) fn damaged(path: &Path, what: impl fmt::Display) -> Self {
        Self::new(path, format_args!("is damaged ({what}): install or build it anew"))
    }

    /// Fails if the library was built for another machine than this JVM's.
    pub(super) fn check_machine(path: &Path, machine: Machine) -> Result<(), Self> {
        if machine == Machine::THIS {
            return Ok(());
        }
        let what = format!(
            "is a {machine} library but {SHIM} and its JVM are {}: rebuild the agent for {}{}",
            Machine::THIS,
            Machine::THIS.architecture(),
            if machine == Machine::I386 { FOR_I386 } else { "" }
        );
        Err(Self { fault: Fault::Foreign, ..Self::new(path, what) })
    }

    /// The file is a program, an object file or a core dump.
    pub(super) fn not_shared(path: &Path, what: &str) -> Self {
        Self::new(
            path,
            format_args!("is {what}, not a shared library: link the agent with -shared"),
        )
    }

    /// The library exports no entry point of JVMPI, but these symbols.
    pub fn no_on_load(path: &Path, exported: &[String]) -> Self {
        let exports = |is_it: fn(&str) -> bool| exported.iter().any(|name| is_it(name));
        if exports(|name| name == "Agent_OnLoad") {
            let what = format!(
                "exports Agent_OnLoad but no JVM_OnLoad, so it is a JVMTI agent: load it with \
                 -agentpath:{} itself",
                path.display()
            );
            return Self { fault: Fault::JvmtiAgent, ..Self::new(path, what) };
        }
        let is_mangled = |name: &str| {
            ["_Z10JVM_OnLoad", "?JVM_OnLoad@@"].iter().any(|mangled| name.starts_with(mangled))
        };
        let what = if exports(is_mangled) {
            "exports JVM_OnLoad under its C++ name only: declare it extern \"C\" and rebuild the agent"
                .to_owned()
        } else if exports(|name| name == "JNI_OnLoad" || name.starts_with("Java_")) {
            format!(
                "exports functions of JNI but no JVM_OnLoad: if it asks for JVMPI by GetEnv, start the program with \
                 -agentpath:{SHIM} alone, and let the program load it"
            )
        } else {
            "does not export JVM_OnLoad, so it is not a JVMPI agent: check that it is the right library and that \
             nothing hides the symbol"
                .to_owned()
        };
        Self::new(path, what)
    }

    /// The dynamic loader cannot load the library, and says this.
    pub fn unloadable(path: &Path, what: &str) -> Self {
        let advice = if what.contains(EXECUTABLE_STACK) {
            "change it with patchelf --clear-execstack, start the JVM with the environment variable \
             GLIBC_TUNABLES=glibc.rtld.execstack=2, or load it with -agentpath:libjvmpi.so=AGENT and execstack=copy"
        } else {
            "provide what is missing ('jvmpi check' on the library lists it) or rebuild the agent"
        };
        Self::new(path, format_args!("cannot be loaded: {what}: {advice}"))
    }
}

/// Splits `libNAME,OPTIONS.so` into the name and the options.
fn colon_forgotten(file_name: &str) -> Option<(&str, &str)> {
    let text = file_name.strip_prefix(DLL_PREFIX)?.strip_suffix(DLL_SUFFIX)?;
    text.split_once([',', '=']).filter(|(name, _)| !name.is_empty())
}

impl fmt::Display for LibraryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}

impl std::error::Error for LibraryError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_with_options_gets_the_colon_that_is_missing() {
        for (file_name, hint) in [
            ("libcallprof,top=5.so", "; options follow a colon: callprof:top=5"),
            ("libcallprof=top=5.so", "; options follow a colon: callprof:top=5"),
            ("libcallprof.so", ""),
        ] {
            let error = LibraryError::not_found(OsStr::new(file_name), &[]);
            let end = format!("-agentpath:libjvmpi.so=/path/to/{file_name}{hint}");
            assert!(error.to_string().ends_with(&end), "{error}");
        }
    }
}
