//! Programs that this one starts.

use rustix::io::retry_on_intr;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitCode, ExitStatus};

/// Makes the program replace this one in its process, so that exit status and signals are its own. Returns only if the
/// program is not started.
///
/// # Errors
/// Returns the error of the system.
pub fn become_program(program: &mut Command) -> io::Result<ExitCode> {
    Err(program.exec())
}

/// Returns a function that waits until the program has ended. The process still has its number then, so that no signal
/// gets to another.
///
/// # Errors
/// Returns none here.
pub fn end_of(program: &Child) -> io::Result<impl FnOnce() + Send + 'static> {
    let process = Pid::from_child(program);
    Ok(move || {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let _ = retry_on_intr(|| waitid(WaitId::Pid(process), options));
    })
}

/// Returns the exit status of a program, by the rules of shells.
pub fn status_of(status: ExitStatus) -> u8 {
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
