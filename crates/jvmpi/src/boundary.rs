//! The boundary to C: what C calls never unwinds back into C, and what went wrong is one line.

use std::fmt::Display;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

/// What the agent calls itself in its messages.
static NAME: OnceLock<&'static str> = OnceLock::new();

pub fn set_name(name: &'static str) {
    NAME.get_or_init(|| name);
}

/// Writes one line to stderr.
pub fn report(what: &dyn Display) {
    let name = NAME.get().unwrap_or(&"agent");
    // There is nobody to tell that it failed.
    let _ = writeln!(std::io::stderr(), "[{name}] error: {what}");
}

/// Runs a body that C has called. If it panics, which Rust has reported already, says what it was.
pub fn guard(what: &str, body: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(body)).is_err() {
        report(&format_args!("{what} ends with the panic above; the program goes on"));
    }
}
