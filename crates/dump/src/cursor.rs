//! Reading bytes from their beginning.

use crate::{ID, Id};
use std::fmt;

/// A dump that is not one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Malformed {
    /// Where the record begins, in bytes from the beginning.
    pub position: usize,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the record at byte {}: {}", self.position, self.reason)
    }
}

impl std::error::Error for Malformed {}

/// What is wrong with a record.
pub type Reason = String;

/// The bytes that are still to be read.
#[derive(Clone, Copy)]
pub struct Cursor<'a>(pub &'a [u8]);

impl<'a> Cursor<'a> {
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], Reason> {
        let (bytes, rest) = self
            .0
            .split_at_checked(count)
            .ok_or_else(|| format!("{count} bytes are missing, {} are left", self.0.len()))?;
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

/// Reads records one after the other, until the end or the first that is malformed.
pub fn next<'a, R>(
    all: &'a [u8],
    position: &mut usize,
    read: impl FnOnce(&mut Cursor<'a>) -> Result<R, Reason>,
) -> Option<Result<R, Malformed>> {
    let begin = *position;
    if begin >= all.len() {
        return None;
    }
    let mut cursor = Cursor(&all[begin..]);
    match read(&mut cursor) {
        Ok(record) => {
            *position = all.len() - cursor.0.len();
            Some(Ok(record))
        }
        Err(reason) => {
            *position = all.len();
            Some(Err(Malformed { position: begin, reason }))
        }
    }
}
