//! JVMTI error codes as Rust errors.

use jvmpi_jvmti_sys::{JVMTI_ERROR_MAX, JVMTI_ERROR_NONE, jvmtiError};
use std::fmt;

/// A JVMTI error code other than `JVMTI_ERROR_NONE`, or [`Error::NO_IDS`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Error(pub jvmtiError);

/// The result of a wrapped JVMTI function.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// No ID is left for an object. The code is one that no JVMTI function returns.
    pub const NO_IDS: Self = Self(JVMTI_ERROR_MAX + 1);

    /// Converts the result code of a JVMTI function.
    pub fn check(code: jvmtiError) -> Result<()> {
        if code == JVMTI_ERROR_NONE { Ok(()) } else { Err(Self(code)) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::NO_IDS {
            f.write_str("no object IDs are left")
        } else {
            write!(f, "JVMTI error {}", self.0)
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}
