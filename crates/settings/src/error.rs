//! Why settings are refused.

use std::fmt;

/// Why the settings are refused: one line that names the source (`JVMPI_OPTIONS` or `file:line`),
/// what is wrong there and what is valid.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OptionsError(String);

impl OptionsError {
    pub(crate) fn new(source: &str, what: fmt::Arguments<'_>) -> Self {
        Self(one_line(&format!("{source}: {what}")))
    }
}

impl fmt::Display for OptionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for OptionsError {}

/// Returns `text` with escaped control characters.
pub fn one_line(text: &str) -> String {
    let escape = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.into() };
    text.chars().map(escape).collect()
}
