//! Modified UTF-8, the encoding of names in class files, events and dumps.

use std::borrow::Cow;

/// Decodes text in UTF-8 or in the class file's variant of it. There, a character beyond 16 bits has two surrogates of
/// three bytes each, and NUL has two bytes. Invalid bytes and unpaired surrogates become U+FFFD.
pub fn decode(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return text.into();
    }
    let mut units = Vec::new();
    let mut rest = bytes;
    while let Some((unit, used)) = unit(rest) {
        units.push(unit);
        rest = &rest[used..];
    }
    String::from_utf16_lossy(&units).into()
}

/// Returns the first UTF-16 unit and its number of bytes. An invalid byte is the replacement character.
fn unit(bytes: &[u8]) -> Option<(u16, usize)> {
    let bits = |byte: u8| u16::from(byte & 0x3f);
    Some(match *bytes {
        [] => return None,
        [a @ 0..0x80, ..] => (a.into(), 1),
        [a @ 0xc0..0xe0, b @ 0x80..0xc0, ..] => (u16::from(a & 0x1f) << 6 | bits(b), 2),
        [a @ 0xe0..0xf0, b @ 0x80..0xc0, c @ 0x80..0xc0, ..] => {
            (u16::from(a & 0x0f) << 12 | bits(b) << 6 | bits(c), 3)
        }
        _ => (0xfffd, 1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_decoded_in_both_variants_of_utf8() {
        assert_eq!(decode("fähig😀".as_bytes()), "fähig😀");
        assert_eq!(decode(b"\xed\xa0\xbd\xed\xb8\x80!"), "😀!");
        assert_eq!(decode(b"a\xc0\x80b"), "a\0b");
        assert_eq!(decode(b"a\xffb\xe0"), "a\u{fffd}b\u{fffd}");
        assert_eq!(decode(b"\xed\xa0\xbd"), "\u{fffd}");
        assert!(matches!(decode(b"java.lang.String"), Cow::Borrowed(_)));
    }
}
