//! Programs that this one starts.

use super::signals;
use std::io;
use std::os::windows::io::{AsHandle, AsRawHandle};
use std::process::{self, Child, Command, ExitCode, ExitStatus};
use windows_sys::Win32::System::Threading::{INFINITE, WaitForSingleObject};

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

/// Returns a function that waits until the program has ended.
///
/// # Errors
/// Returns the error of the system.
pub fn end_of(program: &Child) -> io::Result<impl FnOnce() + Send + 'static> {
    let process = program.as_handle().try_clone_to_owned()?;
    Ok(move || {
        // SAFETY: the handle is that of a process, and open.
        unsafe { WaitForSingleObject(process.as_raw_handle(), INFINITE) };
    })
}

/// Returns the exit status of a program, or 1 for one that commands of Linux cannot have, such as that of a crash.
pub fn status_of(status: ExitStatus) -> u8 {
    status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
