//! Assertions that end a case with an error instead of a panic.

use std::fmt::Debug;

/// Ends the case with this message unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(format!($($message)+));
        }
    };
}

/// Fails unless what was seen is what was expected.
pub fn equal<T: PartialEq<U> + Debug, U: Debug>(
    what: &str,
    seen: T,
    expected: U,
) -> Result<(), String> {
    if seen == expected {
        return Ok(());
    }
    Err(format!("{what}: saw {}, expected {}", shortened(&seen), shortened(&expected)))
}

/// Returns the value, shortened if it is too long for an error message.
fn shortened(value: &impl Debug) -> String {
    const LIMIT: usize = 600;
    let text = format!("{value:?}");
    match text.char_indices().nth(LIMIT) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
