//! The strings in events.

use jvmpi_formats::modified_utf8::decode;
use std::borrow::Cow;
use std::ffi::{CStr, c_char};
use std::fmt;

/// A string in an event, in modified UTF-8: NUL takes two bytes, and a character beyond U+FFFF is encoded as
/// two surrogates.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModifiedUtf8<'e>(&'e CStr);

impl<'e> ModifiedUtf8<'e> {
    /// Wraps a C string; NULL becomes the empty string.
    ///
    /// # Safety
    /// `text` is NULL or a NUL-terminated string that does not change during `'e`.
    pub(crate) unsafe fn of(text: *const c_char) -> Self {
        // SAFETY: as the caller promises.
        Self(if text.is_null() { c"" } else { unsafe { CStr::from_ptr(text) } })
    }

    /// Returns the string as a C string.
    pub fn as_c_str(self) -> &'e CStr {
        self.0
    }

    /// Returns the bytes, without the terminating NUL.
    pub fn as_bytes(self) -> &'e [u8] {
        self.0.to_bytes()
    }

    /// Returns true if the string is empty.
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Decodes the string. Invalid bytes and unpaired surrogates become U+FFFD.
    pub fn to_str(self) -> Cow<'e, str> {
        decode(self.as_bytes())
    }
}

impl<'e> From<&'e CStr> for ModifiedUtf8<'e> {
    fn from(text: &'e CStr) -> Self {
        Self(text)
    }
}

impl fmt::Display for ModifiedUtf8<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.to_str())
    }
}

impl fmt::Debug for ModifiedUtf8<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_str(), f)
    }
}
