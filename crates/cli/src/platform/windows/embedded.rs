//! The libraries in a command that is a single file, which no command is here.

use std::path::{Path, PathBuf};

/// Returns None: the libraries are files beside the command.
///
/// # Errors
/// Returns none.
pub fn unpacked(_: &Path) -> Result<Option<PathBuf>, String> {
    Ok(None)
}

/// Returns false.
pub fn is_single(_: &Path) -> bool {
    false
}
