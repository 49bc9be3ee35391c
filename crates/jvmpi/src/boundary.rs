//! The boundary to C: stops panics from unwinding into C, and writes error lines.

use std::fmt::Display;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

/// The name of the agent in its error lines.
static NAME: OnceLock<&'static str> = OnceLock::new();

pub fn set_name(name: &'static str) {
    NAME.get_or_init(|| name);
}

/// Writes one error line to stderr.
pub fn report(what: &dyn Display) {
    let name = NAME.get().unwrap_or(&"agent");
    // A failed write to stderr cannot be reported anywhere.
    let _ = writeln!(std::io::stderr(), "[{name}] error: {what}");
}

/// Runs the body of a function that C calls. If the body panics, reports that after Rust's panic message.
pub fn guard(what: &str, body: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(body)).is_err() {
        report(&format_args!("{what} ended with the panic above; the program continues"));
    }
}
