//! Linkers that are scripts.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Creates the linker in `directory`: a script that executes this command.
pub fn script(directory: &Path, command: &str) -> Result<PathBuf, String> {
    // rustc derives the kind of linker from the name.
    let linker = file(directory, "cc", &format!("#!/bin/sh\nexec {command}\n"))?;
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(&linker, executable).map_err(|e| format!("{}: {e}", linker.display()))?;
    Ok(linker)
}

/// Writes a file in `directory`, which is created if it is missing.
pub fn file(directory: &Path, name: &str, content: &str) -> Result<PathBuf, String> {
    let path = directory.join(name);
    fs::create_dir_all(directory)
        .and_then(|()| fs::write(&path, content))
        .map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(path)
}
