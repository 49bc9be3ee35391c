//! The libraries of the operating system: their format and their names.

#[cfg(unix)]
pub(crate) use crate::library::elf as format;
#[cfg(windows)]
pub(crate) use crate::library::pe as format;

/// The file name of the library that loads agents.
pub const SHIM: &str = if cfg!(windows) { "jvmpi.dll" } else { "libjvmpi.so" };
/// The environment variable with the directories in which libraries are searched.
pub const SEARCH_PATH: &str = if cfg!(windows) { "PATH" } else { "LD_LIBRARY_PATH" };
/// The beginning of a path, for examples.
pub const EXAMPLE: &str = if cfg!(windows) { r"C:\path\to\" } else { "/path/to/" };
/// The alternative for an agent built for i386, as most agents of JVMPI's time were. There is no `jvmpi.dll` for it.
pub const FOR_I386: &str = if cfg!(windows) {
    ""
} else {
    ", or use a JVM for i386 (Debian's openjdk-17-jre-headless:i386) with the libjvmpi.so for it (jvmpi_*_i386.deb)"
};
