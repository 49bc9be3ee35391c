//! Linux: libraries in the ELF format.

use crate::library::{Bounded, LibraryError, Machine, bits, damaged};
pub(crate) use crate::library::{
    contents_of as contents_of_bytes, examine_elf_file as examine_bytes,
};
use object::elf::{FileHeader32, FileHeader64};
use object::read::elf::FileHeader;
use std::path::Path;

/// Returns the machine that an ELF file was built for.
///
/// # Errors
/// Fails if the file is no ELF file, or if it is damaged.
pub fn machine_of_bytes(path: &Path, data: Bounded<'_>) -> Result<Machine, LibraryError> {
    match bits(path, data)? {
        32 => Machine::of(FileHeader32::parse(data)),
        _ => Machine::of(FileHeader64::parse(data)),
    }
    .map_err(|error| damaged(path, error))
}

/// The file name of the library that loads agents.
pub const SHIM: &str = "libjvmpi.so";
/// The environment variable with the directories that the dynamic loader searches.
pub const SEARCH_PATH: &str = "LD_LIBRARY_PATH";
/// The beginning of a path, for examples.
pub const EXAMPLE: &str = "/path/to/";
/// The alternative for an agent built for i386, as most agents of JVMPI's time were.
pub const FOR_I386: &str = ", or use a JVM for i386 (Debian's openjdk-17-jre-headless:i386) with the \
                            libjvmpi.so for it (jvmpi_*_i386.deb)";
