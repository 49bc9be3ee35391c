//! Kills commands that hang.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::{Child, Command, Output, Stdio};
use std::ptr;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use jvmpi_cpu_timeout::LOOK;

use crate::cpu_timeout::{self, PATIENCE};
use crate::{build, stacks};

/// A guard for a process, which is killed if it hangs while the guard exists. Code that waits for the process or its
/// output then continues.
#[derive(Debug)]
pub struct Guard {
    _kept: Sender<()>,
}

impl Guard {
    fn of(child: &Child, partner: Option<u32>, patience: Duration) -> io::Result<Self> {
        let (process, handle) = (child.id(), handle(child)?);
        let (kept, is_kept) = channel();
        thread::spawn(move || {
            let mut patience = cpu_timeout::with(process, partner, patience);
            while !patience.left().is_zero() {
                if is_kept.recv_timeout(LOOK) == Err(RecvTimeoutError::Disconnected) {
                    return;
                }
            }
            let directory = build::output_dir().join(format!("hung/{process}"));
            _ = fs::create_dir_all(&directory);
            let files = stacks::write(process, &directory);
            eprintln!("process {process} hung and was killed; in {}: {files}", directory.display());
            let nothing = ptr::null::<libc::siginfo_t>();
            // SAFETY: the handle refers to a process, and no data is passed with the signal.
            unsafe {
                libc::syscall(
                    libc::SYS_pidfd_send_signal,
                    handle.as_raw_fd(),
                    libc::SIGKILL,
                    nothing,
                    0,
                )
            };
        });
        Ok(Self { _kept: kept })
    }
}

/// Returns a handle that, unlike a process ID, never refers to another process.
fn handle(child: &Child) -> io::Result<OwnedFd> {
    // SAFETY: pidfd_open accepts any number.
    let handle = unsafe { libc::syscall(libc::SYS_pidfd_open, child.id(), 0) };
    match i32::try_from(handle) {
        // SAFETY: it was just opened, and no other code uses it.
        Ok(handle) if handle >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(handle) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Starts the command with its output piped. CPU time of the partner process counts as its own.
pub fn start(command: &mut Command, partner: Option<u32>) -> Result<(Child, Guard), String> {
    start_with(command, partner, PATIENCE).map_err(|e| format!("{command:?}: {e}"))
}

fn start_with(
    command: &mut Command,
    partner: Option<u32>,
    patience: Duration,
) -> io::Result<(Child, Guard)> {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let guard = Guard::of(&child, partner, patience)?;
    Ok((child, guard))
}

/// Runs the command, and returns its output and its exit status.
pub fn output(command: &mut Command, partner: Option<u32>) -> Result<Output, String> {
    let (child, _guard) = start(command.stdin(Stdio::null()), partner)?;
    child.wait_with_output().map_err(|e| format!("{command:?}: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn process_that_waits_forever_is_killed() {
        let mut command = Command::new("sleep");
        let (child, _guard) =
            start_with(command.arg("infinity"), None, Duration::from_millis(500)).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.signal(), Some(libc::SIGKILL));
    }
}
