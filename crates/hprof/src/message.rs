//! The messages of the agent on stderr.

use std::fmt::Display;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

/// True if the last line on stderr is the unfinished line of a dump.
static IN_LINE: AtomicBool = AtomicBool::new(false);

/// Prints one line that describes an error.
pub fn error(what: &dyn Display) {
    print("ERROR", what);
}

/// Prints one line that describes something that is not done as requested.
pub fn warning(what: &dyn Display) {
    print("WARNING", what);
}

fn print(kind: &str, what: &dyn Display) {
    let before = if IN_LINE.swap(false, Ordering::Relaxed) { "\n" } else { "" };
    // There is no other place to report a failure of stderr.
    let _ = std::io::stderr().write_all(format!("{before}HPROF {kind}: {what}\n").as_bytes());
}

/// The line about a dump, which grows with the dump.
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

    /// Appends the name of the part that begins.
    pub fn part(&self, what: &str) {
        self.say(&format!(" {what} ..."));
    }

    /// Ends the line.
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
