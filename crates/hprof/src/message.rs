//! What the agent tells on stderr.

use std::fmt::Display;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the last line is that of a dump, which is not at its end.
static IN_LINE: AtomicBool = AtomicBool::new(false);

/// One line about what is wrong.
pub fn error(what: &dyn Display) {
    let before = if IN_LINE.swap(false, Ordering::Relaxed) { "\n" } else { "" };
    // There is nobody to tell that it failed.
    let _ = std::io::stderr().write_all(format!("{before}HPROF ERROR: {what}\n").as_bytes());
}

/// The line about a dump, which grows with it.
#[derive(Debug)]
pub struct Progress {
    verbose: bool,
}

impl Progress {
    /// Begins the line.
    pub fn begin(verbose: bool) -> Self {
        let progress = Self { verbose };
        progress.say("Dumping");
        progress
    }

    /// A part begins.
    pub fn part(&self, what: &str) {
        self.say(&format!(" {what} ..."));
    }

    /// The end of the line.
    pub fn end(self, well: bool) {
        if well {
            self.say(" done.\n");
        }
        IN_LINE.store(false, Ordering::Relaxed);
    }

    fn say(&self, text: &str) {
        if self.verbose {
            IN_LINE.store(true, Ordering::Relaxed);
            let _ = std::io::stderr().write_all(text.as_bytes());
        }
    }
}
