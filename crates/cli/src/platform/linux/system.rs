//! The machine, its libraries, and the streams and the desktop that the user has.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The variable with the directories of libraries.
pub const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";
/// The JVM's library below its root, in the order in which they are tried.
pub const JVM_LIBRARIES: [&str; 4] =
    ["lib/server/libjvm.so", "lib/client/libjvm.so", "lib/zero/libjvm.so", "lib/minimal/libjvm.so"];
/// The variable with the user's directory.
pub const HOME: &str = "HOME";
/// The environment of the C library, in the name of the target.
const LIBC: &str = if cfg!(target_env = "musl") { "musl" } else { "gnu" };

/// Returns the name of the target for which this command was built.
pub fn target() -> String {
    format!("{}-linux-{LIBC}", env::consts::ARCH)
}

/// Returns the directories where a package puts libraries, relative to that of the command.
pub fn library_directories() -> Vec<String> {
    // Debian's name for this machine's processor.
    let debian = if cfg!(target_arch = "x86") { "i386" } else { env::consts::ARCH };
    let debian = format!("../lib/{debian}-linux-gnu/jvmpi");
    vec!["../lib".into(), "../lib/jvmpi".into(), "../lib64/jvmpi".into(), debian]
}

/// Returns the directories in which package managers put Java runtimes.
pub fn java_directories() -> Vec<PathBuf> {
    ["/usr/lib/jvm", "/usr/java", "/usr/local/java", "/opt", "/opt/java"].map(PathBuf::from).into()
}

/// Returns true if this is the name of the launcher of Java programs.
pub fn is_java(name: &OsStr) -> bool {
    name == "java"
}

/// Returns the program that this word of a command line stands for. The system looks for it in `PATH`.
pub fn program(word: &OsStr) -> OsString {
    word.to_owned()
}

/// Makes the process end without a panic when the reader of its output ends, as in
/// `jvmpi … | head`.
pub fn end_quietly_with_the_reader() {
    // SAFETY: no other thread runs yet, and the default action calls no code of ours.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
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

/// Returns the name of this machine.
///
/// # Errors
/// Returns one line if the kernel does not show it.
pub fn host_name() -> Result<String, String> {
    const NAME: &str = "/proc/sys/kernel/hostname";
    let name = fs::read_to_string(NAME).map_err(|error| format!("{NAME}: {error}"))?;
    Ok(name.trim().to_owned())
}

/// Returns facts about the machine for a bug report: names and values, in the order in which they are printed.
pub fn facts() -> Vec<(&'static str, String)> {
    vec![
        ("system", field("/etc/os-release", "PRETTY_NAME=").unwrap_or_else(|| "?".into())),
        ("kernel", read("/proc/sys/kernel/osrelease")),
        ("memory", field("/proc/meminfo", "MemTotal:").unwrap_or_else(|| "?".into())),
    ]
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

/// Returns the text after `name` at the start of a line of the file.
fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(value.trim().trim_matches('"').to_owned())
}
