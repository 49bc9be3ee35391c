//! The strings of events.

use std::borrow::Cow;
use std::ffi::{CStr, c_char};
use std::fmt;

/// A string of an event, in modified UTF-8: NUL is written in two bytes, and a character beyond
/// U+FFFF as the two halves that Java has for it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModifiedUtf8<'e>(&'e CStr);

impl<'e> ModifiedUtf8<'e> {
    /// The string; an empty one for NULL.
    ///
    /// # Safety
    /// `text` is NULL or a NUL-terminated string that nobody changes for as long as `'e` lasts.
    pub(crate) unsafe fn of(text: *const c_char) -> Self {
        // SAFETY: as the caller promises.
        Self(if text.is_null() { c"" } else { unsafe { CStr::from_ptr(text) } })
    }

    /// As C has it.
    pub fn as_c_str(self) -> &'e CStr {
        self.0
    }

    /// The bytes, without the NUL at the end.
    pub fn as_bytes(self) -> &'e [u8] {
        self.0.to_bytes()
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// As text. What is not modified UTF-8, and halves of characters, become U+FFFD.
    pub fn to_str(self) -> Cow<'e, str> {
        match self.0.to_str() {
            // What is UTF-8 is the same in both, but for NUL and for four bytes in a row.
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

/// The first UTF-16 unit, and how many bytes it takes.
fn unit(bytes: &[u8]) -> Option<(u16, usize)> {
    let low = |i: usize| bytes.get(i).filter(|b| **b & 0xc0 == 0x80).map(|b| u16::from(b & 0x3f));
    let first = *bytes.first()?;
    let told = match first {
        0..0x80 => Some((first.into(), 1)),
        0xc0..0xe0 => low(1).map(|a| (u16::from(first & 0x1f) << 6 | a, 2)),
        0xe0..0xf0 => {
            low(1).zip(low(2)).map(|(a, b)| (u16::from(first & 0xf) << 12 | a << 6 | b, 3))
        }
        _ => None,
    };
    Some(told.unwrap_or((char::REPLACEMENT_CHARACTER as u16, 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &CStr) -> String {
        ModifiedUtf8(bytes).to_str().into_owned()
    }

    #[test]
    fn what_differs_from_utf8_is_decoded() {
        assert_eq!(text(c"a\xc0\x80b"), "a\0b");
        assert_eq!(text(c"\xed\xa0\xbd\xed\xb8\x80!"), "\u{1f600}!");
        assert_eq!(text(c"\xed\xa0\xbd!"), "\u{fffd}!", "half a character");
        assert_eq!(text(c"x\xc3\xa4\xe2\x82\xac\xc0\x80"), "xä€\0");
    }

    #[test]
    fn what_is_no_string_is_replaced() {
        assert_eq!(text(c"a\xff\xc3z"), "a\u{fffd}\u{fffd}z");
        assert_eq!(text(c"\xe2\x82"), "\u{fffd}\u{fffd}");
    }

    #[test]
    fn usual_names_are_borrowed() {
        assert!(matches!(ModifiedUtf8(c"java.lang.String").to_str(), Cow::Borrowed(_)));
    }
}
