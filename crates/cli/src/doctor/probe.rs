//! Trying a JVM.

use super::jvms::Jvm;
use std::path::Path;
use std::process::Command;

/// A garbage collector: how it is called here, and the flag that selects it.
pub const COLLECTORS: [(&str, &str); 6] = [
    ("g1", "-XX:+UseG1GC"),
    ("serial", "-XX:+UseSerialGC"),
    ("parallel", "-XX:+UseParallelGC"),
    ("zgc", "-XX:+UseZGC"),
    ("shenandoah", "-XX:+UseShenandoahGC"),
    ("epsilon", "-XX:+UseEpsilonGC"),
];

/// Whether the JVM starts at all, with its defaults.
///
/// # Errors
/// What it says.
pub fn starts(jvm: &Jvm) -> Result<(), String> {
    run(jvm, &["-version"], "").map(|_| ())
}

/// The collectors that the JVM was built with, each by name and flag.
pub fn collectors(jvm: &Jvm) -> Vec<(&'static str, &'static str)> {
    let has = |(_, flag): &(&str, &str)| run(jvm, &[flag, "-version"], "").is_ok();
    COLLECTORS.into_iter().filter(has).collect()
}

/// Whether libjvmpi.so works in the JVM with this collector.
///
/// # Errors
/// What the JVM or libjvmpi.so says.
pub fn works(jvm: &Jvm, libjvmpi: &Path, collector: &str) -> Result<(), String> {
    let option = format!("-agentpath:{}", libjvmpi.display());
    let said = run(jvm, &[collector, &option, "-version"], "log=info")?;
    let is_there = said.lines().any(|line| line.starts_with("[jvmpi] info: jvmpi "));
    if is_there { Ok(()) } else { Err("the JVM has not loaded libjvmpi.so".into()) }
}

/// Runs the JVM to its end; returns its standard error, or the line that says why it failed.
fn run(jvm: &Jvm, arguments: &[&str], settings: &str) -> Result<String, String> {
    let mut java = Command::new(jvm.java());
    for variable in ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "JVMPI_CONFIG"] {
        java.env_remove(variable);
    }
    // ZGC and Shenandoah are experimental in some versions.
    java.args(["-XX:+UnlockExperimentalVMOptions", "-Xmx64m"]).args(arguments);
    let output = java.env("JVMPI_OPTIONS", settings).output().map_err(|error| error.to_string())?;
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() {
        return Ok(stderr);
    }
    // The JVM reports some failures on standard output.
    let lines = [stderr.clone(), String::from_utf8_lossy(&output.stdout).into_owned()].concat();
    let ours = lines.lines().find_map(|line| line.strip_prefix("[jvmpi] error: "));
    let line = ours.or_else(|| lines.lines().find(|line| !line.is_empty()));
    Err(line.map_or_else(|| output.status.to_string(), str::to_owned))
}
