//! What the shim has to say goes to stderr, one line each, never to the program's stdout.

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
        // One write per line keeps lines of several threads apart; a closed stderr is no fault.
        let line = format!("[jvmpi] {level}: {}\n", record.args());
        let _ = std::io::stderr().write_all(line.as_bytes());
    }

    fn flush(&self) {}
}

/// Makes the log work; errors and warnings are shown until [`set_level`] says otherwise.
pub fn start() {
    if log::set_logger(&Stderr).is_ok() {
        log::set_max_level(LevelFilter::Warn);
    }
}

/// Shows what is at least as important as the level.
pub fn set_level(level: options::Log) {
    log::set_max_level(level.into());
}
