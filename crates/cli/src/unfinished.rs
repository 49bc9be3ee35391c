//! Files and directories that are removed when a signal ends this process.

use crate::signals::{self, Signal};
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

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

/// Removes what is not finished, and ends the process by the signal.
pub fn end(signal: Signal) -> ! {
    // Nothing is finished any more while this thread has the lock.
    for path in paths().iter() {
        // It may have got its name by now.
        let _ = fs::remove_file(path).or_else(|_| fs::remove_dir_all(path));
    }
    signals::end_by(signal)
}
