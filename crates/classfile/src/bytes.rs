//! Reading and writing big-endian bytes (JVMS §4: u1, u2, u4).

use crate::Error;

/// A bounds-checked cursor over part of a class file.
///
/// `part` is the name of that part in errors of reads past its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    part: &'static str,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8], part: &'static str) -> Self {
        Self { bytes, at: 0, part }
    }

    /// Creates a cursor at `at`; reads fail if that is beyond the end.
    pub fn starting_at(bytes: &'a [u8], at: usize, part: &'static str) -> Self {
        Self { bytes, at, part }
    }

    pub fn at(&self) -> usize {
        self.at
    }

    pub fn truncated(&self) -> Error {
        Error::Truncated { part: self.part }
    }

    #[inline]
    pub fn take(&mut self, length: usize) -> Result<&'a [u8], Error> {
        let taken = self
            .at
            .checked_add(length)
            .and_then(|end| self.bytes.get(self.at..end))
            .ok_or_else(|| self.truncated())?;
        self.at += length;
        Ok(taken)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        match self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<N>()) {
            Some(chunk) => {
                self.at += N;
                Ok(*chunk)
            }
            None => Err(self.truncated()),
        }
    }

    #[inline]
    pub fn u1(&mut self) -> Result<u8, Error> {
        self.array().map(|[byte]| byte)
    }

    #[inline]
    pub fn u2(&mut self) -> Result<u16, Error> {
        self.array().map(u16::from_be_bytes)
    }

    #[inline]
    pub fn u4(&mut self) -> Result<u32, Error> {
        self.array().map(u32::from_be_bytes)
    }

    #[inline]
    pub fn i4(&mut self) -> Result<i32, Error> {
        self.array().map(i32::from_be_bytes)
    }

    /// Fails unless everything has been read.
    pub fn finish(&self) -> Result<(), Error> {
        if self.at == self.bytes.len() {
            Ok(())
        } else {
            Err(Error::TrailingBytes { part: self.part })
        }
    }
}

/// Methods that append to a byte vector.
pub(crate) trait Write {
    fn u1(&mut self, value: u8);
    fn u2(&mut self, value: u16);
    fn u4(&mut self, value: u32);
    /// Overwrites the two bytes at `at`, which were written before.
    fn set_u2(&mut self, at: usize, value: u16);
    /// Overwrites the four bytes at `at`, which were written before.
    fn set_u4(&mut self, at: usize, value: u32);
}

impl Write for Vec<u8> {
    #[inline]
    fn u1(&mut self, value: u8) {
        self.push(value);
    }

    #[inline]
    fn u2(&mut self, value: u16) {
        self.extend_from_slice(&value.to_be_bytes());
    }

    #[inline]
    fn u4(&mut self, value: u32) {
        self.extend_from_slice(&value.to_be_bytes());
    }

    #[inline]
    fn set_u2(&mut self, at: usize, value: u16) {
        self[at..at + 2].copy_from_slice(&value.to_be_bytes());
    }

    #[inline]
    fn set_u4(&mut self, at: usize, value: u32) {
        self[at..at + 4].copy_from_slice(&value.to_be_bytes());
    }
}
