//! The file that a recording goes to.

use super::setting::Value;
use std::fmt;

/// The file in which an agent is recorded, if it is.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceFile(Option<String>);

/// The word for none.
const OFF: &str = "off";

impl TraceFile {
    /// Returns the value that turns recording off.
    pub fn off() -> Self {
        Self(None)
    }

    /// Returns its path, in which `%p` stands for the process ID.
    pub fn path(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

impl Value for TraceFile {
    const VALID: &'static [&'static str] = &[OFF, "FILE"];

    fn parse(text: &str) -> Option<Self> {
        match text {
            "" => None,
            OFF => Some(Self::off()),
            path => Some(Self(Some(path.to_owned()))),
        }
    }
}

impl fmt::Display for TraceFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.path().unwrap_or(OFF))
    }
}
