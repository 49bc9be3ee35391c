//! Directories for temporary files, which belong to one user each.

use std::env;
use std::path::Path;
use tempfile::TempDir;

/// Creates a temporary directory whose name begins with this prefix.
///
/// # Errors
/// Returns one line if the directory cannot be created.
pub fn temporary(prefix: &str) -> Result<TempDir, String> {
    temporary_in(&env::temp_dir(), prefix)
}

/// Creates such a directory in this one.
///
/// # Errors
/// Returns one line if the directory cannot be created.
pub fn temporary_in(place: &Path, prefix: &str) -> Result<TempDir, String> {
    let failed = |error| format!("no directory in {}: {error}", place.display());
    tempfile::Builder::new().prefix(prefix).tempdir_in(place).map_err(failed)
}
