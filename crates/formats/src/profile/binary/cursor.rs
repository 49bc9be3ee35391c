//! Bytes that are read one after the other.

use crate::profile::error::Error;
use crate::profile::model::{ObjectId, Type, Value};

/// A place in a file.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    end: usize,
    id_size: usize,
}

impl<'a> Cursor<'a> {
    /// At the beginning of these bytes; IDs have 4 or 8 bytes.
    pub fn new(bytes: &'a [u8], id_size: usize) -> Self {
        Self { bytes, at: 0, end: bytes.len(), id_size }
    }

    /// Returns the bytes from `start` to `end`, or as many of them as the file
    /// has.
    pub fn part(self, start: usize, end: usize) -> Self {
        let end = end.min(self.bytes.len());
        Self { at: start.min(end), end, ..self }
    }

    pub fn at(self) -> usize {
        self.at
    }

    pub fn left(self) -> usize {
        self.end - self.at
    }

    pub fn is_at_end(self) -> bool {
        self.at == self.end
    }

    pub fn error(self, what: impl Into<String>) -> Error {
        Error { at: self.at as u64, line: None, what: what.into() }
    }

    pub fn take(&mut self, length: usize) -> Result<&'a [u8], Error> {
        if self.left() < length {
            return Err(self.error(format!(
                "{length} bytes are expected where the file or the record has only {}",
                self.left()
            )));
        }
        let taken = &self.bytes[self.at..self.at + length];
        self.at += length;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub fn u1(&mut self) -> Result<u8, Error> {
        self.array().map(u8::from_be_bytes)
    }

    pub fn u2(&mut self) -> Result<u16, Error> {
        self.array().map(u16::from_be_bytes)
    }

    pub fn u4(&mut self) -> Result<u32, Error> {
        self.array().map(u32::from_be_bytes)
    }

    pub fn u8(&mut self) -> Result<u64, Error> {
        self.array().map(u64::from_be_bytes)
    }

    pub fn id_size(self) -> usize {
        self.id_size
    }

    pub fn raw_id(&mut self) -> Result<u64, Error> {
        if self.id_size == 4 { self.u4().map(u64::from) } else { self.u8() }
    }

    pub fn id(&mut self) -> Result<ObjectId, Error> {
        self.raw_id().map(ObjectId)
    }

    pub fn type_code(&mut self) -> Result<Type, Error> {
        let before = *self;
        let code = self.u1()?;
        Type::from_code(code).ok_or_else(|| before.error(format!("there is no type {code}")))
    }

    pub fn value(&mut self, of_type: Type) -> Result<Value, Error> {
        Ok(match of_type {
            Type::Reference => Value::Reference(self.id()?),
            Type::Boolean => Value::Boolean(self.u1()? != 0),
            Type::Char => Value::Char(self.u2()?),
            Type::Float => Value::Float(f32::from_bits(self.u4()?)),
            Type::Double => Value::Double(f64::from_bits(self.u8()?)),
            Type::Byte => Value::Byte(self.u1()? as i8),
            Type::Short => Value::Short(self.u2()? as i16),
            Type::Int => Value::Int(self.u4()? as i32),
            Type::Long => Value::Long(self.u8()? as i64),
        })
    }
}
