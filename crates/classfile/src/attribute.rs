//! Attributes (JVMS §4.7): names and lengths. Users of an attribute interpret its contents.

use crate::bytes::Reader;
use crate::{ConstantPool, Error};

/// One attribute of a class, field, method or `Code` attribute.
#[derive(Clone, Copy, Debug)]
pub struct Attribute<'a> {
    /// Its name, such as `b"SourceFile"`.
    pub name: &'a [u8],
    /// The bytes after `attribute_length`.
    pub info: &'a [u8],
    /// The index of the name in the constant pool.
    pub(crate) name_index: u16,
}

/// The attributes of one table, in file order.
///
/// The table was checked when its class or code was read.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a> {
    pool: &'a ConstantPool<'a>,
    /// The reader, after `attributes_count`.
    rest: Reader<'a>,
    count: u16,
}

impl<'a> Attributes<'a> {
    /// Reads the table from the reader and leaves the reader after it.
    pub(crate) fn read(reader: &mut Reader<'a>, pool: &'a ConstantPool<'a>) -> Result<Self, Error> {
        let attributes = Self::start(reader, pool)?;
        for _ in 0..attributes.count {
            Attribute::read(reader, pool)?;
        }
        Ok(attributes)
    }

    /// Returns the table at `at`, which was checked before.
    pub(crate) fn checked(bytes: &'a [u8], at: usize, pool: &'a ConstantPool<'a>) -> Self {
        let mut reader = Reader::starting_at(bytes, at, "attributes");
        Self::start(&mut reader, pool).unwrap_or(Self { pool, rest: reader, count: 0 })
    }

    fn start(reader: &mut Reader<'a>, pool: &'a ConstantPool<'a>) -> Result<Self, Error> {
        let count = reader.u2()?;
        Ok(Self { pool, rest: *reader, count })
    }

    /// Returns the contents of the first attribute named `name`.
    #[must_use]
    pub fn find(mut self, name: &[u8]) -> Option<&'a [u8]> {
        Iterator::find(&mut self, |attribute| attribute.name == name)
            .map(|attribute| attribute.info)
    }
}

impl<'a> Attribute<'a> {
    pub(crate) fn read(reader: &mut Reader<'a>, pool: &ConstantPool<'a>) -> Result<Self, Error> {
        let name_index = reader.u2()?;
        let length = reader.u4()?;
        let info = reader.take(length as usize)?;
        Ok(Self { name: pool.utf8(name_index)?, info, name_index })
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = Attribute<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        self.count = self.count.checked_sub(1)?;
        Attribute::read(&mut self.rest, self.pool).ok()
    }
}
