//! Kills commands that hang.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::ptr;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use jvmpi_cpu_timeout::LOOK;

use crate::cpu_timeout::{self, PATIENCE};
use crate::{build, stacks};

/// A process that is killed if it hangs before this is dropped. Code that waits for its output then continues.
#[derive(Debug)]
pub struct Guarded {
    /// The process.
    pub child: Child,
    _kept: Sender<()>,
}

/// The end of a process.
#[derive(Debug)]
pub struct Ended {
    /// The exit status, if no signal has killed it.
    pub status: Option<i32>,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

impl Ended {
    /// Returns the standard output, or the standard error if the process has failed.
    pub fn succeeded(self) -> Result<String, String> {
        if self.status == Some(0) { Ok(self.stdout) } else { Err(self.stderr) }
    }
}

impl Guarded {
    fn start(command: &mut Command, partner: Option<u32>, patience: Duration) -> io::Result<Self> {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let (process, handle) = (child.id(), handle(&child)?);
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
        Ok(Self { child, _kept: kept })
    }

    /// Sends the process a signal.
    pub fn signal(&self, signal: libc::c_int) {
        let number = libc::pid_t::try_from(self.child.id()).expect("as the system has it");
        // SAFETY: kill has no precondition, and the child was not waited for, so the number is its.
        unsafe { libc::kill(number, signal) };
    }

    /// Waits until the process ends.
    pub fn end(self) -> Result<Ended, String> {
        let output = self.child.wait_with_output().map_err(|e| e.to_string())?;
        let [stdout, stderr] =
            [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
        Ok(Ended { status: output.status.code(), stdout, stderr })
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
pub fn start(command: &mut Command, partner: Option<u32>) -> Result<Guarded, String> {
    Guarded::start(command, partner, PATIENCE).map_err(|e| format!("{command:?}: {e}"))
}

/// Runs the command to its end.
pub fn output(command: &mut Command, partner: Option<u32>) -> Result<Ended, String> {
    start(command.stdin(Stdio::null()), partner)?.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_that_waits_forever_is_killed() {
        let mut sleep = Command::new("sleep");
        let patience = Duration::from_millis(500);
        let sleep = Guarded::start(sleep.arg("infinity"), None, patience).unwrap();
        assert_eq!(sleep.end().unwrap().status, None);
    }
}
