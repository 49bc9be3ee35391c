//! The lines of a text, and the words of a line.

use crate::profile::error::Error;
use std::borrow::Cow;
use std::str::FromStr;

/// Goes through the lines of a text.
#[derive(Clone, Copy, Debug)]
pub struct Lines<'a> {
    bytes: &'a [u8],
    /// The offset of the next line.
    next: usize,
    end: usize,
    /// The offset of the line that was read last.
    at: usize,
}

impl<'a> Lines<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, next: 0, end: bytes.len(), at: 0 }
    }

    /// Returns the lines from `start` to `end`, or as many of them as there are.
    pub fn part(self, start: usize, end: usize) -> Self {
        let end = end.min(self.bytes.len());
        let start = start.min(end);
        Self { next: start, end, at: start, ..self }
    }

    /// Returns the next line without its end.
    pub fn next(&mut self) -> Option<Cow<'a, str>> {
        let rest = &self.bytes[self.next..self.end];
        if rest.is_empty() {
            return None;
        }
        let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        self.at = self.next;
        self.next = (self.next + length + 1).min(self.end);
        let line = &rest[..length];
        Some(String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)))
    }

    /// Returns the next line, which stays the next.
    pub fn peek(mut self) -> Option<Cow<'a, str>> {
        self.next()
    }

    /// Returns the offset of the next line.
    pub fn place(self) -> usize {
        self.next
    }

    /// Moves past the next line that consists of `text`, and returns the offset of that line; moves to the
    /// end if there is none.
    pub fn skip_past(&mut self, text: &str) -> Option<usize> {
        let rest = &self.bytes[..self.end];
        let found = memchr::memmem::find_iter(&rest[self.next..], text)
            .map(|place| self.next + place)
            .find(|&start| {
                let after = &rest[start + text.len()..];
                let begins = start == self.next || rest[start - 1] == b'\n';
                begins && matches!(after, [] | [b'\n', ..] | [b'\r', b'\n', ..])
            });
        self.next = found.unwrap_or(self.end);
        if found.is_some() {
            self.next();
        }
        found
    }

    /// Returns an error in the line that was read last.
    pub fn error(self, what: impl Into<String>) -> Error {
        let before = memchr::memchr_iter(b'\n', &self.bytes[..self.at]).count() as u64;
        Error { at: self.at as u64, line: Some(before + 1), what: what.into() }
    }
}

/// Takes a line to pieces. Every method returns None where the line is not as it should be.
#[derive(Clone, Copy, Debug)]
pub struct Words<'a>(pub &'a str);

impl<'a> Words<'a> {
    /// Reads exactly this text.
    pub fn text(&mut self, text: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(text)?;
        Some(())
    }

    /// Returns the text before `end`, which is skipped.
    pub fn until(&mut self, end: &str) -> Option<&'a str> {
        let (before, after) = self.0.split_once(end)?;
        self.0 = after;
        Some(before)
    }

    /// Returns the text before the last `end`, which is skipped.
    pub fn until_last(&mut self, end: &str) -> Option<&'a str> {
        let (before, after) = self.0.rsplit_once(end)?;
        self.0 = after;
        Some(before)
    }

    /// Returns the next word between spaces.
    pub fn word(&mut self) -> Option<&'a str> {
        let rest = self.0.trim_start_matches(' ');
        let (word, rest) = rest.split_at(rest.find(' ').unwrap_or(rest.len()));
        self.0 = rest;
        (!word.is_empty()).then_some(word)
    }

    /// Returns the next word as a number.
    pub fn number<T: FromStr>(&mut self) -> Option<T> {
        self.word()?.parse().ok()
    }

    /// Returns the number at the beginning, up to what is no digit.
    pub fn digits<T: FromStr>(&mut self) -> Option<T> {
        let end = self.0.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.0.len());
        let (digits, rest) = self.0.split_at(end);
        self.0 = rest;
        digits.parse().ok()
    }

    /// Returns the hexadecimal number at the beginning.
    pub fn hex(&mut self) -> Option<u64> {
        let end = self.0.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(self.0.len());
        let (digits, rest) = self.0.split_at(end);
        self.0 = rest;
        u64::from_str_radix(digits, 16).ok()
    }

    /// Returns a percentage. The original writes `-nan%` where the total is 0.
    pub fn percentage(&mut self) -> Option<f64> {
        let part: f64 = self.word()?.strip_suffix('%')?.parse().ok()?;
        Some(if part.is_finite() { part } else { 0.0 })
    }

    /// Returns None if anything follows.
    pub fn end(self) -> Option<()> {
        self.0.is_empty().then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_know_their_numbers() {
        let mut lines = Lines::new(b"one\r\ntwo\nEND no\nEND\nlast");
        assert_eq!(lines.next().unwrap(), "one");
        assert_eq!(lines.peek().unwrap(), "two");
        assert_eq!(lines.skip_past("END"), Some(16));
        assert_eq!(lines.error("").line, Some(4));
        assert_eq!(lines.next().unwrap(), "last");
        assert_eq!(lines.error("").line, Some(5));
        assert_eq!(lines.next(), None);
        let mut lines = Lines::new(b"END");
        assert_eq!(lines.skip_past("END"), Some(0));
        assert_eq!(lines.next(), None);
        let mut lines = Lines::new(b"a\nb");
        assert_eq!(lines.skip_past("END"), None);
        assert_eq!(lines.next(), None);
    }
}
