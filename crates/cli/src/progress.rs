//! The progress of a recording or a heap dump, on the terminal.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

/// Shows how long it has been recorded.
#[derive(Debug)]
pub enum Progress {
    /// On a line of its own.
    Line(String),
    /// In the title of the terminal, because its lines belong to the program.
    Title,
    /// Nowhere.
    None,
}

impl Progress {
    /// Creates the progress display for a process that does not write to this terminal.
    pub fn line(of: String) -> Self {
        if io::stderr().is_terminal() { Self::Line(of) } else { Self::None }
    }

    /// Creates the progress display for a program that may itself write to this terminal.
    pub fn title() -> Self {
        let is_dumb = std::env::var_os("TERM").is_none_or(|terminal| terminal == "dumb");
        if is_dumb || !io::stderr().is_terminal() {
            return Self::None;
        }
        // Terminals keep the title that there was.
        say("\x1b[22;0t");
        Self::Title
    }

    /// Shows that the JVM is being attached to.
    pub fn show_attaching(&self, rewrites: bool) {
        if let Self::Line(of) = self {
            let rewriting = if rewrites { " and rewriting its classes" } else { "" };
            say(format_args!("\rattaching to {of}{rewriting}; the program continues\x1b[K"));
        }
    }

    /// Shows that the heap is being dumped.
    pub fn show_dumping(&self) {
        if let Self::Line(of) = self {
            say(format_args!("\rdumping the heap of {of}, which is stopped meanwhile\x1b[K"));
        }
    }

    /// Shows the seconds since the start.
    pub fn show(&self, seconds: u64) {
        match self {
            Self::Line(of) => {
                say(format_args!(
                    "\rrecording {of}: {seconds} s; Ctrl-C stops, the program continues\x1b[K"
                ));
            }
            Self::Title => say(format_args!("\x1b]0;jvmpi: recording, {seconds} s\x07")),
            Self::None => {}
        }
    }
}

/// The end of the line, or the title that was there before.
impl Drop for Progress {
    fn drop(&mut self) {
        match self {
            Self::Line(_) => say("\n"),
            Self::Title => say("\x1b[23;0t"),
            Self::None => {}
        }
    }
}

fn say(what: impl Display) {
    let mut terminal = io::stderr().lock();
    // The text is only for a viewer; a failure does not matter.
    let _ = write!(terminal, "{what}").and_then(|()| terminal.flush());
}
