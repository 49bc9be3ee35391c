//! The constant pool of a class file (JVMS §4.4), read only.
//!
//! Reading finds the start of each entry. Entries are decoded only on request. Adding to a pool
//! is the task of [`Constants`](crate::Constants).

use crate::Error;
use crate::bytes::Reader;

/// Tags of constant pool entries (JVMS table 4.4-A).
pub(crate) mod tag {
    pub const UTF8: u8 = 1;
    pub const INTEGER: u8 = 3;
    pub const FLOAT: u8 = 4;
    pub const LONG: u8 = 5;
    pub const DOUBLE: u8 = 6;
    pub const CLASS: u8 = 7;
    pub const STRING: u8 = 8;
    pub const FIELDREF: u8 = 9;
    pub const METHODREF: u8 = 10;
    pub const INTERFACE_METHODREF: u8 = 11;
    pub const NAME_AND_TYPE: u8 = 12;
    pub const METHOD_HANDLE: u8 = 15;
    pub const METHOD_TYPE: u8 = 16;
    pub const DYNAMIC: u8 = 17;
    pub const INVOKE_DYNAMIC: u8 = 18;
    pub const MODULE: u8 = 19;
    pub const PACKAGE: u8 = 20;
}

/// The constant pool of a class file.
///
/// Indices are those of the file: 1 to [`len`](Self::len) − 1. The index after a `long` or
/// `double` has no entry.
#[derive(Debug, Default)]
pub struct ConstantPool<'a> {
    file: &'a [u8],
    /// The offset of each entry's tag in the file; 0 for an index without entry.
    offsets: Vec<u32>,
}

/// The class, name and descriptor in a field or method reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberRef<'a> {
    /// Internal name of the class (`java/lang/Object`), or an array descriptor.
    pub class: &'a [u8],
    /// Name of the member.
    pub name: &'a [u8],
    /// Descriptor of the member.
    pub descriptor: &'a [u8],
}

impl<'a> ConstantPool<'a> {
    /// Reads `constant_pool_count` and the entries from the reader.
    pub(crate) fn read(file: &'a [u8], reader: &mut Reader<'a>) -> Result<Self, Error> {
        let count = reader.u2()?;
        let mut offsets = Vec::with_capacity(usize::from(count));
        offsets.push(0);
        while offsets.len() < usize::from(count) {
            let index = offsets.len() as u16;
            let at = u32::try_from(reader.at()).map_err(|_| reader.truncated())?;
            offsets.push(at);
            let size = match reader.u1()? {
                tag::UTF8 => usize::from(reader.u2()?),
                tag::CLASS | tag::STRING | tag::METHOD_TYPE | tag::MODULE | tag::PACKAGE => 2,
                tag::METHOD_HANDLE => 3,
                tag::INTEGER
                | tag::FLOAT
                | tag::FIELDREF
                | tag::METHODREF
                | tag::INTERFACE_METHODREF
                | tag::NAME_AND_TYPE
                | tag::DYNAMIC
                | tag::INVOKE_DYNAMIC => 4,
                // §4.4.5: the entry takes two indices; the second one is unusable.
                tag::LONG | tag::DOUBLE => {
                    offsets.push(0);
                    8
                }
                tag => return Err(Error::BadConstantTag { index, tag }),
            };
            reader.take(size)?;
        }
        Ok(Self { file, offsets })
    }

    /// Returns `constant_pool_count`: the largest index plus one.
    #[must_use]
    pub fn len(&self) -> usize {
        self.offsets.len()
    }

    /// Returns true if there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.offsets.len() <= 1
    }

    /// Returns the number of indices of constants that are NaN (JVMS §4.4.4, §4.4.5).
    #[must_use]
    pub fn nans(&self) -> usize {
        let indices = |&offset: &u32| match self.file.get(offset as usize..) {
            Some(&[tag::FLOAT, a, b, c, d, ..]) => {
                usize::from(f32::from_be_bytes([a, b, c, d]).is_nan())
            }
            Some(&[tag::DOUBLE, a, b, c, d, e, f, g, h, ..]) => {
                2 * usize::from(f64::from_be_bytes([a, b, c, d, e, f, g, h]).is_nan())
            }
            _ => 0,
        };
        self.offsets.iter().filter(|offset| **offset != 0).map(indices).sum()
    }

    /// Returns the tag of the entry at `index` (JVMS table 4.4-A), `None` if there is no entry.
    #[must_use]
    pub fn tag(&self, index: u16) -> Option<u8> {
        self.entry(index).map(|entry| entry[0])
    }

    /// Returns the modified UTF-8 bytes (JVMS §4.4.7) at `index`.
    ///
    /// # Errors
    /// [`Error::BadConstant`] if there is no `CONSTANT_Utf8`.
    pub fn utf8(&self, index: u16) -> Result<&'a [u8], Error> {
        let text = self.entry(index).and_then(|entry| match *entry {
            [tag::UTF8, high, low, ..] => {
                entry.get(3..3 + usize::from(u16::from_be_bytes([high, low])))
            }
            _ => None,
        });
        text.ok_or(Error::BadConstant { index, expected: "CONSTANT_Utf8" })
    }

    /// Returns the name in the `CONSTANT_Class` at `index`: an internal name or, for an array
    /// class, a descriptor (JVMS §4.4.1).
    ///
    /// # Errors
    /// [`Error::BadConstant`] if there is no `CONSTANT_Class` with a name.
    pub fn class(&self, index: u16) -> Result<&'a [u8], Error> {
        match self.entry(index) {
            Some(&[tag::CLASS, high, low, ..]) => self.utf8(u16::from_be_bytes([high, low])),
            _ => Err(Error::BadConstant { index, expected: "CONSTANT_Class" }),
        }
    }

    /// Returns the target of the `CONSTANT_Fieldref`, `CONSTANT_Methodref` or
    /// `CONSTANT_InterfaceMethodref` at `index` (JVMS §4.4.2).
    ///
    /// # Errors
    /// [`Error::BadConstant`] if there is none of the three, or a part of it is missing.
    pub fn member(&self, index: u16) -> Result<MemberRef<'a>, Error> {
        match self.entry(index) {
            Some(
                &[
                    tag::FIELDREF | tag::METHODREF | tag::INTERFACE_METHODREF,
                    class_high,
                    class_low,
                    high,
                    low,
                    ..,
                ],
            ) => {
                let class = self.class(u16::from_be_bytes([class_high, class_low]))?;
                let (name, descriptor) = self.name_and_type(u16::from_be_bytes([high, low]))?;
                Ok(MemberRef { class, name, descriptor })
            }
            _ => Err(Error::BadConstant { index, expected: "field or method reference" }),
        }
    }

    /// Returns the name and descriptor of the `CONSTANT_Dynamic` or `CONSTANT_InvokeDynamic` at
    /// `index` (JVMS §4.4.10).
    ///
    /// # Errors
    /// [`Error::BadConstant`] if there is neither of the two, or a part of it is missing.
    pub fn dynamic(&self, index: u16) -> Result<(&'a [u8], &'a [u8]), Error> {
        match self.entry(index) {
            Some(&[tag::DYNAMIC | tag::INVOKE_DYNAMIC, _, _, high, low, ..]) => {
                self.name_and_type(u16::from_be_bytes([high, low]))
            }
            _ => Err(Error::BadConstant { index, expected: "CONSTANT_Dynamic" }),
        }
    }

    fn name_and_type(&self, index: u16) -> Result<(&'a [u8], &'a [u8]), Error> {
        match self.entry(index) {
            Some(&[tag::NAME_AND_TYPE, name_high, name_low, high, low, ..]) => Ok((
                self.utf8(u16::from_be_bytes([name_high, name_low]))?,
                self.utf8(u16::from_be_bytes([high, low]))?,
            )),
            _ => Err(Error::BadConstant { index, expected: "CONSTANT_NameAndType" }),
        }
    }

    /// Returns the file from the entry's tag on; not empty.
    #[inline]
    fn entry(&self, index: u16) -> Option<&'a [u8]> {
        match *self.offsets.get(usize::from(index))? {
            0 => None,
            offset => self.file.get(offset as usize..).filter(|entry| !entry.is_empty()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_that_are_nan_are_counted_by_their_indices() {
        let mut file = vec![0, 9];
        for float in [f32::NAN, f32::INFINITY, f32::from_bits(0xffc0_0001)] {
            file.push(tag::FLOAT);
            file.extend(float.to_be_bytes());
        }
        for double in [f64::NAN, 1.5] {
            file.push(tag::DOUBLE);
            file.extend(double.to_be_bytes());
        }
        file.extend([tag::UTF8, 0, 1, b'x']);
        let pool = ConstantPool::read(&file, &mut Reader::new(&file, "pool")).unwrap();
        assert_eq!((pool.len(), pool.nans()), (9, 4));
    }
}
