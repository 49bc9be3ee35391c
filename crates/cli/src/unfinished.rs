//! Files and directories that are removed when a signal ends this process.

use crate::platform::signals::{self, Signal};
use crate::waiting::Waiting;
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

static PATHS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn paths() -> MutexGuard<'static, Vec<PathBuf>> {
    PATHS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file or directory that is not finished. Dropping it does not remove the file.
#[derive(Debug)]
pub struct Unfinished(PathBuf);

impl Unfinished {
    /// Has [`end`] remove this path from now on.
    pub fn new(path: PathBuf) -> Self {
        paths().push(path.clone());
        Self(path)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        paths().retain(|path| *path != self.0);
    }
}

/// Returns waits for a JVM that signals end. Soon after a signal the process ends, whatever else it waits for, such as
/// the reader of a pipe.
pub fn waiting() -> Waiting {
    /// The time from a signal to the end of the command, which must end within a second.
    const END: Duration = Duration::from_millis(900);
    let waiting = Waiting::default();
    let interrupted = waiting.clone();
    signals::listen(move |signal| {
        interrupted.interrupt();
        thread::sleep(END);
        end(signal);
    });
    waiting
}

/// Removes what is not finished, and ends the process by the signal.
pub fn end(signal: Signal) -> ! {
    // Nothing is finished any more while this thread has the lock.
    for path in paths().iter() {
        // It may have got its name by now.
        let _ = fs::remove_file(path).or_else(|_| fs::remove_dir_all(path));
    }
    signals::end_by(signal)
}
