//! Runs a measured program and parses its output.

use std::path::PathBuf;
use std::process::Command;

use compat_tests::jdk::Jdk;
use compat_tests::{build, text, tool};

/// The output of a program.
pub struct Printed {
    pub stdout: String,
    pub stderr: String,
}

impl Printed {
    /// Returns the numbers after these keys on standard output.
    pub fn numbers(&self, keys: &[&str]) -> Result<Vec<f64>, String> {
        keys.iter().map(|key| number_after(key, &self.stdout)).collect()
    }
}

/// Runs the command, which must succeed.
pub fn run(command: &mut Command) -> Result<Printed, String> {
    let [stdout, stderr] = tool::output(command)?;
    Ok(Printed { stdout, stderr })
}

/// Returns the JVM option that loads the shim with this agent of the compatibility tests. The agent writes to its
/// [`report`].
pub fn shim(jdk: &Jdk, agent: &str, options: &str) -> Result<String, String> {
    let report = report(jdk, agent);
    let (shim, agent) = (build::released_shim()?, build::agent(agent)?);
    let (shim, agent, out) = (text(&shim)?, text(&agent)?, text(&report)?);
    Ok(format!("-agentpath:{shim}={agent}:out={out},{options}"))
}

/// Returns the file that the agent loaded by [`shim`] writes.
pub fn report(jdk: &Jdk, agent: &str) -> PathBuf {
    build::output_dir().join(format!("bench-{agent}-{}.txt", jdk.feature))
}

/// Returns the number after `key` in a line of output, for example in `seconds=0.6` or `ticks per second 900`.
pub fn number_after(key: &str, text: &str) -> Result<f64, String> {
    let rest = text.split_once(key).ok_or_else(|| format!("no `{key}` in: {text}"))?.1;
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    rest[..end].parse().map_err(|_| format!("no number after `{key}` in: {text}"))
}
