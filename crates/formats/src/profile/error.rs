//! The error of a file that cannot be read to its end.

use std::fmt::{self, Display};
use std::io;

/// The place where reading had to end, and the reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    /// The place in the file, in bytes.
    pub at: u64,
    /// The line of a text file, from 1.
    pub line: Option<u64>,
    /// Why.
    pub what: String,
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.what),
            None => write!(f, "byte {}: {}", self.at, self.what),
        }
    }
}

impl std::error::Error for Error {}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        Self::new(io::ErrorKind::InvalidData, error)
    }
}
