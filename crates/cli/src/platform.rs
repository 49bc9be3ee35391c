//! Parts that only Linux has, apart from `/proc/PID`, which the module `process` reads.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Returns the numbers of all processes.
pub fn processes() -> Vec<libc::pid_t> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut numbers: Vec<_> =
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    numbers
}

/// Shows a file in the program that the user's desktop has for it, and does not wait for it.
///
/// # Errors
/// Returns one line if there is no desktop.
pub fn open_in_viewer(path: &Path) -> Result<(), String> {
    let mut viewer = Command::new("xdg-open");
    viewer.arg(path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let failed = |error| format!("cannot open {}: xdg-open: {error}", path.display());
    viewer.spawn().map(drop).map_err(failed)
}
