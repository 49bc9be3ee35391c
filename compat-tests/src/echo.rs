//! Shows the output files of a JVM while it runs, for a user who runs a single case.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The variable that turns on the display of the JVMs' output.
pub const ECHO: &str = "JVMPI_TEST_ECHO";

/// The interval between two reads of the files.
const TICK: Duration = Duration::from_millis(50);

/// Copies new contents of files to standard error until it is dropped.
#[derive(Debug)]
pub struct Echo {
    is_over: Arc<AtomicBool>,
    copier: Option<JoinHandle<()>>,
}

impl Echo {
    /// Starts to copy these files if the user wants to see them.
    pub fn of(files: Vec<PathBuf>) -> Option<Self> {
        std::env::var_os(ECHO)?;
        let is_over = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&is_over);
        let copier = thread::spawn(move || copy(&files, &mut io::stderr(), &until));
        Some(Self { is_over, copier: Some(copier) })
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(copier) = self.copier.take() {
            let _ = copier.join();
        }
    }
}

fn copy(files: &[PathBuf], to: &mut impl Write, is_over: &AtomicBool) {
    let mut open: Vec<Option<File>> = files.iter().map(|_| None).collect();
    loop {
        // Read before the files, so that the last look sees all that was written.
        let is_last = is_over.load(Ordering::Relaxed);
        for (path, file) in files.iter().zip(&mut open) {
            if file.is_none() {
                *file = File::open(path).ok();
            }
            let mut text = Vec::new();
            if let Some(file) = file {
                let _ = file.read_to_end(&mut text);
            }
            let _ = to.write_all(&text);
        }
        if is_last {
            return;
        }
        thread::sleep(TICK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Scratch;
    use std::fs;

    #[test]
    fn everything_written_before_the_end_is_copied_once() {
        let directory = Scratch::new("echo");
        let files = ["stdout", "report"].map(|name| directory.0.join(name)).to_vec();
        fs::write(&files[0], "one\n").unwrap();
        let (is_over, mut shown) = (AtomicBool::new(false), Vec::new());
        thread::scope(|scope| {
            let copier = scope.spawn(|| copy(&files, &mut shown, &is_over));
            fs::write(&files[1], "two\n").unwrap();
            is_over.store(true, Ordering::Relaxed);
            copier.join().unwrap();
        });
        assert_eq!(String::from_utf8(shown).unwrap(), "one\ntwo\n");
    }
}
