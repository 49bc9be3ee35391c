//! The paths of the libraries that the command works with.

use crate::platform::{embedded, system};
use jvm::platform::names::SHIM;
use std::env;
use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The variable that names jvmpi's library where it does not lie next to the command.
pub const LIBRARY_VARIABLE: &str = "JVMPI_LIBRARY";

/// The version, the commit and the target of the command, and the place of its libraries.
pub static ABOUT: LazyLock<String> = LazyLock::new(|| {
    let is_single = env::current_exe().is_ok_and(|command| embedded::is_single(&command));
    format!(
        "{}\ncommit: {}\ntarget: {}\nlibraries: {}",
        env!("CARGO_PKG_VERSION"),
        // `cargo xtask dist` sets it.
        option_env!("JVMPI_COMMIT").unwrap_or("unknown"),
        system::target(),
        if is_single { "inside" } else { "in files of their own" }
    )
});

/// Returns the path of the library that loads agents.
///
/// # Errors
/// Returns the place where it was searched for.
pub fn libjvmpi() -> Result<PathBuf, String> {
    match env::var_os(LIBRARY_VARIABLE).filter(|path| !path.is_empty()) {
        Some(path) => named_by_the_variable(path),
        None => of_the_command(SHIM),
    }
}

/// Returns the path of HPROF's library, which lies next to that one.
///
/// # Errors
/// Returns the place where it was searched for.
pub fn libhprof() -> Result<PathBuf, String> {
    let path = libjvmpi()?.with_file_name(format!("{DLL_PREFIX}hprof{DLL_SUFFIX}"));
    if path.is_file() {
        return Ok(path);
    }
    Err(format!("{} does not exist: put it beside {SHIM}", path.display()))
}

fn named_by_the_variable(path: OsString) -> Result<PathBuf, String> {
    let path = PathBuf::from(path);
    dunce::canonicalize(&path).map_err(|error| {
        format!(
            "{LIBRARY_VARIABLE} names {}: {error}; name the file {SHIM} or unset the variable",
            path.display()
        )
    })
}

/// Returns the path of a library of this command. A command that is a single file contains it. Otherwise it is next to
/// the command, as it is built or unpacked, or where a package puts libraries.
fn of_the_command(file: &str) -> Result<PathBuf, String> {
    let command = env::current_exe().and_then(dunce::canonicalize);
    let command =
        command.map_err(|error| format!("cannot find the path of jvmpi itself: {error}"))?;
    // Other users may be able to put a library beside a single file, as in /tmp.
    if let Some(directory) = embedded::unpacked(&command)? {
        return Ok(directory.join(file));
    }
    let directory = command.parent().unwrap_or(Path::new("/"));
    let of_packages = system::library_directories();
    let places = ["".into()].into_iter().chain(of_packages).chain(["../release".into()]);
    let directories: Vec<_> = places.map(|to| directory.join(to)).collect();
    let found = directories.iter().find(|directory| directory.join(file).is_file());
    if let Some(directory) = found.and_then(|directory| dunce::canonicalize(directory).ok()) {
        // The file may be a link. HPROF is beside the link.
        return Ok(directory.join(file));
    }
    let searched: Vec<_> = directories.iter().map(|place| place.display().to_string()).collect();
    let searched = searched.join(", ");
    Err(format!(
        "{file} is in none of {searched}: put it beside jvmpi, as in the archive and the package, or \
         name {SHIM} in {LIBRARY_VARIABLE}"
    ))
}
