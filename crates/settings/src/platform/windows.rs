//! Windows: libraries in the Portable Executable format.

pub(crate) use crate::library::pe::{
    contents_of as contents_of_bytes, machine as machine_of_bytes,
};
use crate::library::{Bounded, LibraryError, pe};
use std::path::Path;

/// Examines the bytes of a library.
///
/// # Errors
/// The same as for [`examine`](crate::library::examine).
pub fn examine_bytes(path: &Path, data: Bounded<'_>) -> Result<(), LibraryError> {
    pe::examine(path, data.0)
}

/// The file name of the library that loads agents.
pub const SHIM: &str = "jvmpi.dll";
/// The environment variable with the directories that the JVM searches.
pub const SEARCH_PATH: &str = "PATH";
/// The beginning of a path, for examples.
pub const EXAMPLE: &str = r"C:\path\to\";
/// The alternative for an agent built for i386: none, as there is no `jvmpi.dll` for it.
pub const FOR_I386: &str = "";
