//! Names as terminals, lines and XML can have them.

use std::borrow::Cow;

/// Returns the text with its unsafe characters escaped as in Rust and JSON, such as `\n` or `\u{1b}`. These are control
/// characters (escape sequences of terminals, ends of lines), characters that change the writing direction, and
/// characters that XML forbids.
///
/// Names of threads, files, fields and classes come from a program that may belong to another user.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_printable) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_printable(c) { clean.push(c) } else { clean.extend(c.escape_default()) }
    }
    Cow::Owned(clean)
}

fn is_printable(c: char) -> bool {
    !c.is_control()
        && !matches!(
            c,
            '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_and_nothing_else_is() {
        for (text, expected) in [
            ("java.lang.Object$1 <é😀>", "java.lang.Object$1 <é😀>"),
            ("\u{1b}[2J\u{9b}31m\r\n\0", r"\u{1b}[2J\u{9b}31m\r\n\u{0}"),
            ("user\u{202e}txt.exe", r"user\u{202e}txt.exe"),
            ("\u{ffff}", r"\u{ffff}"),
        ] {
            assert_eq!(printable(text), expected);
        }
        assert!(matches!(printable("main"), Cow::Borrowed("main")));
    }
}
