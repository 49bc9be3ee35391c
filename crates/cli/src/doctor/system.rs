//! The facts about the machine for a bug report.

use std::env;
use std::fs;
use std::thread::available_parallelism;

/// Names and values, in the order in which they are printed.
pub fn facts() -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("system", field("/etc/os-release", "PRETTY_NAME=").unwrap_or_else(|| "?".into())),
        ("kernel", read("/proc/sys/kernel/osrelease")),
        ("libc", libc_version()),
        ("processors", available_parallelism().map_or_else(|e| e.to_string(), |n| n.to_string())),
        ("memory", field("/proc/meminfo", "MemTotal:").unwrap_or_else(|| "?".into())),
    ];
    for name in
        ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "JVMPI_OPTIONS", "JVMPI_CONFIG"]
    {
        if let Some(value) = env::var_os(name) {
            facts.push(("variable", format!("{name}={}", value.to_string_lossy())));
        }
    }
    facts
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

#[cfg(target_env = "gnu")]
fn libc_version() -> String {
    // SAFETY: returns a string that lives for ever.
    let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
    format!("glibc {}", version.to_string_lossy())
}

/// musl has no function for its version.
#[cfg(not(target_env = "gnu"))]
fn libc_version() -> String {
    "musl".to_owned()
}
