//! Programs that this one starts.

use super::signals;
use std::io;
use std::process::{self, Command, ExitCode, ExitStatus};

/// Runs the program, and ends this one with its exit status. Ctrl-C ends the program alone. Returns only if the program is
/// not started.
///
/// # Errors
/// Returns the error of the system.
pub fn become_program(program: &mut Command) -> io::Result<ExitCode> {
    signals::listen(|_| {});
    let status = program.status()?;
    process::exit(status.code().unwrap_or(1))
}

/// Returns the exit status of a program, or 1 for one that commands of Linux cannot have, such as that of a crash.
pub fn status_of(status: ExitStatus) -> u8 {
    status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
