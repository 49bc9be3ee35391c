//! Reads records from bytes.

use crate::dump::{ID, Id};
use std::fmt;

/// The error of a dump that violates its format.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Malformed {
    /// The offset of the faulty record in the dump, in bytes.
    pub position: usize,
    /// The fault.
    pub reason: String,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the record at byte {}: {}", self.position, self.reason)
    }
}

impl std::error::Error for Malformed {}

/// The fault in a record, in words.
pub type Reason = String;

/// The bytes that have not been read yet.
#[derive(Clone, Copy)]
pub struct Cursor<'a>(pub &'a [u8]);

impl<'a> Cursor<'a> {
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], Reason> {
        let (bytes, rest) = self
            .0
            .split_at_checked(count)
            .ok_or_else(|| format!("{count} bytes expected, {} left", self.0.len()))?;
        self.0 = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Reason> {
        Ok(self.bytes(N)?.try_into().expect("N bytes were read"))
    }

    pub fn u1(&mut self) -> Result<u8, Reason> {
        Ok(self.array::<1>()?[0])
    }

    pub fn u2(&mut self) -> Result<u16, Reason> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    pub fn u4(&mut self) -> Result<u32, Reason> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    pub fn id(&mut self) -> Result<Id, Reason> {
        Ok(Id::from_ne_bytes(self.array::<ID>()?))
    }

    pub fn ids(&mut self, count: usize) -> Result<&'a [u8], Reason> {
        self.bytes(count.checked_mul(ID).ok_or("too many IDs")?)
    }
}

/// Reads records one after the other. A malformed one is the last.
pub fn records<'a, R>(
    all: &'a [u8],
    mut read: impl FnMut(&mut Cursor<'a>) -> Result<R, Reason>,
) -> impl Iterator<Item = Result<R, Malformed>> {
    let mut rest = Cursor(all);
    std::iter::from_fn(move || {
        if rest.0.is_empty() {
            return None;
        }
        let position = all.len() - rest.0.len();
        let record = read(&mut rest);
        if record.is_err() {
            rest = Cursor(&[]);
        }
        Some(record.map_err(|reason| Malformed { position, reason }))
    })
}
