//! Programs that this one starts.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitCode, ExitStatus};

/// Makes the program replace this one in its process, so that exit status and signals are its own. Returns only if the
/// program is not started.
///
/// # Errors
/// Returns the error of the system.
pub fn become_program(program: &mut Command) -> io::Result<ExitCode> {
    Err(program.exec())
}

/// Returns the exit status of a program, by the rules of shells.
pub fn status_of(status: ExitStatus) -> u8 {
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
