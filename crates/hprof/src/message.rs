//! What the agent tells on stderr.

use std::fmt::Display;
use std::io::Write;

/// One line about what is wrong.
pub fn error(what: &dyn Display) {
    // There is nobody to tell that it failed.
    let _ = writeln!(std::io::stderr(), "HPROF ERROR: {what}");
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
        self.say(if well { " done.\n" } else { "\n" });
    }

    fn say(&self, text: &str) {
        if self.verbose {
            let _ = std::io::stderr().write_all(text.as_bytes());
        }
    }
}
