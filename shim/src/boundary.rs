//! The C boundary: what C calls never unwinds back into C.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs the body of a function that C code calls and returns `otherwise` if it panics.
///
/// The panic itself is reported by [`report_panics`]'s hook.
pub fn guard<R>(otherwise: R, body: impl FnOnce() -> R) -> R {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(otherwise)
}

/// Makes a panic one line in the shim's log instead of Rust's usual report.
pub fn report_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let message = panic.payload_as_str().unwrap_or("no message");
        match panic.location() {
            Some(place) => log::error!("internal error at {place}: {message}; please report it"),
            None => log::error!("internal error: {message}; please report it"),
        }
    }));
}
