//! The errors that reject an agent library.

use super::machine::Machine;
use crate::platform::{EXAMPLE, FOR_I386, SEARCH_PATH, SHIM};
use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// The closest match in a library that does not export `JVM_OnLoad`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Instead {
    /// `Agent_OnLoad`: the library is a JVMTI agent.
    AgentOnLoad,
    /// `JVM_OnLoad` with a mangled C++ name.
    Mangled,
    /// `JNI_OnLoad` or native methods: a program loads the library, and it may ask for JVMPI by `GetEnv`.
    Jni,
    /// No similar function.
    Nothing,
}

/// The text in the message of glibc that refuses a library which wants an executable stack.
pub const EXECUTABLE_STACK: &str = "cannot enable executable stack";

/// The reason why an agent library is rejected. Its `Display` form is one line: which library, what is wrong with it,
/// what to do.
#[derive(Debug)]
pub enum LibraryError {
    /// There is no file at this path.
    NoFile {
        /// The path as the user gave it.
        path: PathBuf,
    },
    /// There is no library of this name on the search path.
    NotFound {
        /// The file name, for example `libfoo.so`.
        file_name: OsString,
        /// The directories that were searched before the dynamic loader's own search.
        search: Vec<PathBuf>,
    },
    /// The file cannot be read.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// The file is not an ELF file.
    NotElf {
        /// The file.
        path: PathBuf,
    },
    /// The file is not one of Windows.
    NotPe {
        /// The file.
        path: PathBuf,
    },
    /// The file violates the ELF or PE format.
    Damaged {
        /// The file.
        path: PathBuf,
        /// The part that is wrong.
        what: String,
    },
    /// The library was built for another machine than this JVM's.
    Foreign {
        /// The library.
        path: PathBuf,
        /// The machine that it was built for.
        machine: Machine,
    },
    /// The file is a program, an object file or a core dump.
    NotShared {
        /// The file.
        path: PathBuf,
        /// The kind of file, in words.
        what: &'static str,
    },
    /// The library does not export `JVM_OnLoad`.
    NoOnLoad {
        /// The library.
        path: PathBuf,
        /// The closest match among its exports.
        instead: Instead,
    },
    /// The dynamic loader cannot load the library.
    Unloadable {
        /// The library.
        path: PathBuf,
        /// The loader's message.
        what: String,
    },
}

/// Splits `libNAME,OPTIONS.so` into the name and the options.
fn colon_forgotten(file_name: &str) -> Option<(&str, &str)> {
    let text = file_name.strip_prefix(DLL_PREFIX)?.strip_suffix(DLL_SUFFIX)?;
    text.split_once([',', '=']).filter(|(name, _)| !name.is_empty())
}

impl fmt::Display for LibraryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = match self {
            Self::NoFile { path } => {
                format!("{} does not exist: check the path of the agent", path.display())
            }
            Self::NotFound { file_name, search } => {
                let searched = search
                    .iter()
                    .map(|directory| format!("{}, ", directory.display()))
                    .collect::<String>();
                let options = colon_forgotten(&file_name.to_string_lossy())
                    .map(|(name, options)| format!("; options follow a colon: {name}:{options}"));
                format!(
                    "{} is not in any of {searched}nor where the dynamic loader looks: add its \
                     directory to {SEARCH_PATH}, or give its path as in \
                     -agentpath:{SHIM}={EXAMPLE}{0}{}",
                    file_name.display(),
                    options.unwrap_or_default()
                )
            }
            Self::Unreadable { path, error } => {
                format!("{} cannot be read: {error}: give this user access to it", path.display())
            }
            Self::NotElf { path } => format!(
                "{} is not an ELF file: give the agent's shared library for Linux",
                path.display()
            ),
            Self::NotPe { path } => {
                format!("{} is not a PE file: give the agent's DLL for Windows", path.display())
            }
            Self::Damaged { path, what } => {
                format!("{} is damaged ({what}): install or build it anew", path.display())
            }
            Self::Foreign { path, machine } => format!(
                "{} is a {machine} library but {SHIM} and its JVM are {}: rebuild the agent for {}{}",
                path.display(),
                Machine::THIS,
                Machine::THIS.architecture(),
                if *machine == Machine::I386 { FOR_I386 } else { "" }
            ),
            Self::NotShared { path, what } => format!(
                "{} is {what}, not a shared library: link the agent with -shared",
                path.display()
            ),
            Self::NoOnLoad { path, instead: Instead::AgentOnLoad } => format!(
                "{} exports Agent_OnLoad but no JVM_OnLoad, so it is a JVMTI agent: load it with \
                 -agentpath:{0} itself",
                path.display()
            ),
            Self::NoOnLoad { path, instead: Instead::Mangled } => format!(
                "{} exports JVM_OnLoad under its C++ name only: declare it extern \"C\" and \
                 rebuild the agent",
                path.display()
            ),
            Self::NoOnLoad { path, instead: Instead::Jni } => format!(
                "{} exports functions of JNI but no JVM_OnLoad: if it asks for JVMPI by GetEnv, start the program \
                 with -agentpath:{SHIM} alone, and let the program load it",
                path.display()
            ),
            Self::NoOnLoad { path, instead: Instead::Nothing } => format!(
                "{} does not export JVM_OnLoad, so it is not a JVMPI agent: check that it is the \
                 right library and that nothing hides the symbol",
                path.display()
            ),
            Self::Unloadable { path, what } if what.contains(EXECUTABLE_STACK) => format!(
                "{} cannot be loaded: {what}: change it with patchelf --clear-execstack, start the JVM with the \
                 environment variable GLIBC_TUNABLES=glibc.rtld.execstack=2, or load it \
                 with -agentpath:libjvmpi.so=AGENT and execstack=copy",
                path.display()
            ),
            Self::Unloadable { path, what } => format!(
                "{} cannot be loaded: {what}: provide what is missing ('jvmpi check' on the library \
                 lists it) or rebuild the agent",
                path.display()
            ),
        };
        for c in line.chars() {
            if c.is_control() { write!(f, "{}", c.escape_default())? } else { write!(f, "{c}")? }
        }
        Ok(())
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
            let error = LibraryError::NotFound { file_name: file_name.into(), search: vec![] };
            let end = format!("-agentpath:libjvmpi.so=/path/to/{file_name}{hint}");
            assert!(error.to_string().ends_with(&end), "{error}");
        }
    }
}
