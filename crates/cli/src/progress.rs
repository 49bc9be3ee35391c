//! The progress of a recording or a heap dump, on a line of the terminal.

use crate::process::Process;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

/// Shows how long it has been recorded: the name of the process, or None if nothing is shown.
#[derive(Debug, Default)]
pub struct Progress(Option<String>);

impl Progress {
    /// Creates the progress display for a process that does not write to this terminal.
    pub fn of(process: &Process) -> Self {
        Self(io::stderr().is_terminal().then(|| format!("process {process}")))
    }

    /// Shows that the JVM is being attached to.
    pub fn show_attaching(&self, rewrites: bool) {
        if let Some(of) = &self.0 {
            let rewriting = if rewrites { " and rewriting its classes" } else { "" };
            say(format_args!("\rattaching to {of}{rewriting}; the program continues\x1b[K"));
        }
    }

    /// Shows that the heap is being dumped.
    pub fn show_dumping(&self) {
        if let Some(of) = &self.0 {
            say(format_args!("\rdumping the heap of {of}, which is stopped meanwhile\x1b[K"));
        }
    }

    /// Shows the seconds since the start.
    pub fn show(&self, seconds: u64) {
        if let Some(of) = &self.0 {
            say(format_args!(
                "\rrecording {of}: {seconds} s; Ctrl-C stops, the program continues\x1b[K"
            ));
        }
    }
}

/// Ends the line.
impl Drop for Progress {
    fn drop(&mut self) {
        if self.0.is_some() {
            say("\n");
        }
    }
}

fn say(what: impl Display) {
    let mut terminal = io::stderr().lock();
    // The text is only for a viewer; a failure does not matter.
    let _ = write!(terminal, "{what}").and_then(|()| terminal.flush());
}
