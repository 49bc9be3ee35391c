//! Collects the stack traces of all threads of a hung process.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes the stack traces into files in this folder, as far as possible: from `/proc` and by `gdb`. Returns the names
/// of the files.
pub(crate) fn write(process: u32, directory: &Path) -> String {
    let process = process.to_string();
    let mut written = Vec::new();
    // `/proc` comes first, because reading it does not affect the process.
    if fs::write(directory.join("stacks.proc"), of_system(&process)).is_ok() {
        written.push("stacks.proc");
    }
    let debugger = ["gdb", "-p", &process, "-batch", "-nx", "-ex", "thread apply all bt 60"];
    if tool(&directory.join("stacks.gdb"), &debugger) {
        written.push("stacks.gdb");
    }
    written.join(", ")
}

/// Runs a tool with a timeout, because a tool that waits for the process may hang too. Returns true if it succeeded.
fn tool(output: &Path, command: &[&str]) -> bool {
    let Ok(file) = File::create(output) else { return false };
    let done = Command::new("timeout")
        .args(["-s", "KILL", "60"])
        .args(command)
        .stdin(Stdio::null())
        .stdout(file)
        .stderr(Stdio::null())
        .status();
    done.is_ok_and(|status| status.success())
}

/// Returns name, state and kernel function of each thread.
fn of_system(process: &str) -> String {
    let mut text = String::new();
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { return text };
    for thread in threads.flatten() {
        let read = |name: &str| fs::read_to_string(thread.path().join(name)).unwrap_or_default();
        let stat = read("stat");
        let state = stat.rsplit_once(") ").map_or("?", |(_, rest)| &rest[..1]);
        let _ = writeln!(
            text,
            "{} {:<16} {state} {} syscall {}",
            thread.file_name().to_string_lossy(),
            read("comm").trim_end(),
            read("wchan").trim_end(),
            read("syscall").trim_end(),
        );
    }
    text
}
