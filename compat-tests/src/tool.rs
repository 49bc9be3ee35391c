//! Programs of the system that the tests need.

use std::path::Path;
use std::process::Command;

use crate::text;

/// Runs a program in a directory, and fails if the program does.
pub fn tool(name: &str, arguments: &[&str], directory: &Path) -> Result<(), String> {
    let output = Command::new(name)
        .args(arguments)
        .current_dir(directory)
        .output()
        .map_err(|e| format!("{name}: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&output.stderr);
    Err(format!("{name} {}: {}", arguments.join(" "), why.trim_end()))
}

/// Copies a program that is started afterwards. This process must not write the copy itself: a child that another thread
/// starts meanwhile has the file open for writing until it executes its own program, and Linux starts no such file.
pub fn copy_program(from: &Path, to: &Path) -> Result<(), String> {
    tool("cp", &[text(from)?, text(to)?], Path::new("/"))
}
