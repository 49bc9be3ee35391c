//! Programs of the system that the tests need.

use std::path::Path;
use std::process::Command;

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
