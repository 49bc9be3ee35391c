//! The libraries in a command that is a single file. `cargo xtask dist` adds them to the command as ELF sections.
//!
//! A JVM loads a library from a path, so the command writes them to a directory that only its user can change.

use super::directory::{has_one_user, users_directories};
use jvmpi_settings::library::{self, LibraryError};
use rustix::fs::StatVfsMountFlags;
use sha2::{Digest, Sha256};
use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// The libraries. The section of a library is `.jvmpi.` with its name.
const LIBRARIES: [&str; 2] = ["libjvmpi.so", "libhprof.so"];

/// Writes the libraries in this command to a directory, unless they are there, and returns the directory. Returns
/// `None` if the command contains no libraries.
///
/// # Errors
/// Fails if no directory is suitable, with the reason for each.
pub fn unpacked(command: &Path) -> Result<Option<PathBuf>, String> {
    let section = |name| section(command, name).map_err(|error| error.to_string());
    let [Some(libjvmpi), Some(libhprof)] = [section(LIBRARIES[0])?, section(LIBRARIES[1])?] else {
        return Ok(None);
    };
    let contents = [libjvmpi, libhprof];
    let checksum = contents.iter().fold(Sha256::new(), |sum, content| sum.chain_update(content));
    let checksum: String = checksum.finalize().iter().map(|b| format!("{b:02x}")).collect();
    let name = format!("{}-{checksum}", env!("CARGO_PKG_VERSION"));
    let mut reasons = Vec::new();
    for parent in users_directories() {
        let directory = parent.join(&name);
        match unpack(&directory, &contents) {
            Ok(directory) => return Ok(Some(directory)),
            Err(error) => reasons.push(format!("{}: {error}", directory.display())),
        }
    }
    Err(format!(
        "cannot unpack the libraries ({}); set XDG_CACHE_HOME to a directory that only you can write to",
        reasons.join("; ")
    ))
}

/// Returns true if the command contains the libraries.
pub fn is_single(command: &Path) -> bool {
    LIBRARIES.iter().all(|name| section(command, name).is_ok_and(|found| found.is_some()))
}

fn section(command: &Path, library: &str) -> Result<Option<Vec<u8>>, LibraryError> {
    library::section(command, &format!(".jvmpi.{library}"))
}

/// Writes the libraries to this directory. Returns its path without symbolic links.
fn unpack(directory: &Path, contents: &[Vec<u8>; 2]) -> Result<PathBuf, String> {
    let failed = |error: io::Error| error.to_string();
    DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(failed)?;
    // Further checks and all uses have this path, so that no link can be replaced in between.
    let directory = directory.canonicalize().map_err(failed)?;
    has_one_user(&directory)?;
    if !allows_execution(&directory).map_err(failed)? {
        return Err("is on a file system that is mounted with noexec".into());
    }
    for (name, content) in LIBRARIES.iter().zip(contents) {
        let path = directory.join(name);
        // A JVM may have mapped the old file, which is therefore replaced, not overwritten.
        if fs::read(&path).is_ok_and(|found| found == *content) {
            continue;
        }
        let mut file = NamedTempFile::new_in(&directory).map_err(failed)?;
        file.write_all(content).map_err(failed)?;
        file.as_file().set_permissions(fs::Permissions::from_mode(0o600)).map_err(failed)?;
        file.persist(&path).map_err(|error| error.to_string())?;
    }
    Ok(directory)
}

/// Returns true if libraries in this directory can be loaded.
fn allows_execution(directory: &Path) -> io::Result<bool> {
    let about = rustix::fs::statvfs(directory)?;
    Ok(!about.f_flag.contains(StatVfsMountFlags::NOEXEC))
}
