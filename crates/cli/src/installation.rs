//! The paths of the libraries that the command works with.

use crate::embedded;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The variable that names `libjvmpi.so` where it does not lie next to the command.
pub const LIBRARY_VARIABLE: &str = "JVMPI_LIBRARY";

/// The version, the commit and the target of the command, and the place of its libraries.
pub static ABOUT: LazyLock<String> = LazyLock::new(|| {
    let is_single = env::current_exe().is_ok_and(|command| embedded::is_single(&command));
    format!(
        "{}\ncommit: {}\ntarget: {}-linux-gnu\nlibraries: {}",
        env!("CARGO_PKG_VERSION"),
        // `cargo xtask dist` sets it.
        option_env!("JVMPI_COMMIT").unwrap_or("unknown"),
        env::consts::ARCH,
        if is_single { "inside" } else { "in files of their own" }
    )
});

/// Debian's name for this machine's processor.
const DEBIAN: &str = if cfg!(target_arch = "x86") { "i386" } else { env::consts::ARCH };

/// Returns the path of `libjvmpi.so`.
///
/// # Errors
/// Returns the place where it was searched for.
pub fn libjvmpi() -> Result<PathBuf, String> {
    match env::var_os(LIBRARY_VARIABLE).filter(|path| !path.is_empty()) {
        Some(path) => named_by_the_variable(path),
        None => of_the_command("libjvmpi.so"),
    }
}

/// Returns the path of `libhprof.so`, which lies next to `libjvmpi.so`.
///
/// # Errors
/// Returns the place where it was searched for.
pub fn libhprof() -> Result<PathBuf, String> {
    let path = libjvmpi()?.with_file_name("libhprof.so");
    if path.is_file() {
        return Ok(path);
    }
    Err(format!("{} does not exist: put it beside libjvmpi.so", path.display()))
}

fn named_by_the_variable(path: OsString) -> Result<PathBuf, String> {
    let path = PathBuf::from(path);
    path.canonicalize().map_err(|error| {
        format!(
            "{LIBRARY_VARIABLE} names {}: {error}; name the file libjvmpi.so or unset the variable",
            path.display()
        )
    })
}

/// Returns the path of a library of this command. A command that is a single file contains it. Otherwise it is next to
/// the command, as it is built or unpacked, or where a package puts libraries.
fn of_the_command(file: &str) -> Result<PathBuf, String> {
    let command = env::current_exe().and_then(|path| path.canonicalize());
    let command =
        command.map_err(|error| format!("cannot find the path of jvmpi itself: {error}"))?;
    // Other users may be able to put a library beside a single file, as in /tmp.
    if let Some(directory) = embedded::unpacked(&command)? {
        return Ok(directory.join(file));
    }
    let directory = command.parent().unwrap_or(Path::new("/"));
    let debian = format!("../lib/{DEBIAN}-linux-gnu/jvmpi");
    let directories = ["", "../lib", "../lib/jvmpi", "../lib64/jvmpi", &debian, "../release"]
        .map(|to| directory.join(to));
    let found = directories.iter().find(|directory| directory.join(file).is_file());
    if let Some(directory) = found.and_then(|directory| directory.canonicalize().ok()) {
        // The file may be a link. HPROF is beside the link.
        return Ok(directory.join(file));
    }
    let searched = directories.map(|directory| directory.display().to_string()).join(", ");
    Err(format!(
        "{file} is in none of {searched}: put it beside jvmpi, as in the archive and the package, or \
         name libjvmpi.so in {LIBRARY_VARIABLE}"
    ))
}
