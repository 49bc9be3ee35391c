//! `jvmpi list`: the running JVMs.

use crate::failure::Failure;
use crate::output::Printable;
use crate::process::Process;
use std::io::{self, Write};
use std::process::ExitCode;

/// List the running JVMs
///
/// A line has the process ID, the user, the version of the JDK and the main class or JAR file. JVMs in containers
/// are listed too. Those of other users are listed for root.
#[derive(clap::Args)]
#[command(after_help = "Example: jvmpi list")]
pub struct Arguments {}

/// `jvmpi list`.
pub fn list(_: &Arguments) -> Result<ExitCode, Failure> {
    print(&mut Printable(io::stdout().lock())).map_err(|error| error.to_string())?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a line for each JVM.
///
/// # Errors
/// Returns the error of `out`.
pub fn print(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "    PID  USER      JDK        PROGRAM")?;
    for jvm in Process::jvms() {
        let java = jvm.java().unwrap_or_default();
        let version = java.strip_prefix("Java ").unwrap_or("?");
        let program = jvm.program().unwrap_or_else(|| "?".into());
        let number = jvm.to_string();
        writeln!(out, "{number:>7}  {:<8}  {version:<9}  {program}", jvm.user_name())?;
    }
    Ok(())
}
