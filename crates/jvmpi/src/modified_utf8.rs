//! The strings in events.

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
        match self.0.to_str() {
            // UTF-8 and modified UTF-8 differ only in NUL and in characters of four bytes.
            Ok(text) => Cow::Borrowed(text),
            Err(_) => Cow::Owned(decode(self.as_bytes())),
        }
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

fn decode(bytes: &[u8]) -> String {
    let mut rest = bytes;
    let units = std::iter::from_fn(|| {
        let (unit, length) = unit(rest)?;
        rest = &rest[length..];
        Some(unit)
    });
    char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// Returns the first UTF-16 unit, and the number of bytes that encode it.
fn unit(bytes: &[u8]) -> Option<(u16, usize)> {
    let low = |i: usize| bytes.get(i).filter(|b| **b & 0xc0 == 0x80).map(|b| u16::from(b & 0x3f));
    let first = *bytes.first()?;
    let decoded = match first {
        0..0x80 => Some((first.into(), 1)),
        0xc0..0xe0 => low(1).map(|a| (u16::from(first & 0x1f) << 6 | a, 2)),
        0xe0..0xf0 => {
            low(1).zip(low(2)).map(|(a, b)| (u16::from(first & 0xf) << 12 | a << 6 | b, 3))
        }
        _ => None,
    };
    Some(decoded.unwrap_or((char::REPLACEMENT_CHARACTER as u16, 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &CStr) -> String {
        ModifiedUtf8(bytes).to_str().into_owned()
    }

    #[test]
    fn nul_and_surrogate_pairs_are_decoded() {
        assert_eq!(text(c"a\xc0\x80b"), "a\0b");
        assert_eq!(text(c"\xed\xa0\xbd\xed\xb8\x80!"), "\u{1f600}!");
        assert_eq!(text(c"\xed\xa0\xbd!"), "\u{fffd}!", "unpaired surrogate");
        assert_eq!(text(c"x\xc3\xa4\xe2\x82\xac\xc0\x80"), "xä€\0");
    }

    #[test]
    fn invalid_bytes_become_replacement_characters() {
        assert_eq!(text(c"a\xff\xc3z"), "a\u{fffd}\u{fffd}z");
        assert_eq!(text(c"\xe2\x82"), "\u{fffd}\u{fffd}");
    }

    #[test]
    fn ascii_names_are_borrowed() {
        assert!(matches!(ModifiedUtf8(c"java.lang.String").to_str(), Cow::Borrowed(_)));
    }
}
