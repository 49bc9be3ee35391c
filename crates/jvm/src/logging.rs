//! The log: one line per message on stderr, never on the program's stdout.

use log::{Level, LevelFilter, Log, Metadata, Record};
use std::io::Write;

struct Stderr;

impl Log for Stderr {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        let level = match record.level() {
            Level::Error => "error",
            Level::Warn => "warning",
            Level::Info => "info",
            Level::Debug | Level::Trace => "debug",
        };
        // One write per line keeps the lines of several threads apart. A closed stderr is not an error.
        let line = format!("[jvmpi] {level}: {}\n", record.args());
        let _ = std::io::stderr().write_all(line.as_bytes());
    }

    fn flush(&self) {}
}

/// Installs the log, which shows errors and warnings until [`set_level`] is called.
pub fn start() {
    if log::set_logger(&Stderr).is_ok() {
        log::set_max_level(LevelFilter::Warn);
    }
}

/// Shows messages of this level and of more severe ones.
pub fn set_level(level: LevelFilter) {
    log::set_max_level(level);
}
