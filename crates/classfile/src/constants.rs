//! Constants added to a class.

use std::collections::HashMap;

use crate::Error;
use crate::bytes::Write;
use crate::constant_pool::tag;
use crate::descriptor::{self, Kind};

/// The entries that edits append to a class's constant pool.
///
/// The pool's own entries keep their indices, so nothing outside the edited methods changes. An
/// entry that was added before is used again; the pool's own entries are not searched.
#[derive(Debug)]
pub struct Constants {
    /// The index of the next entry.
    next: u16,
    bytes: Vec<u8>,
    strings: HashMap<Box<[u8]>, u16>,
    others: HashMap<Other, u16>,
}

/// A field that inserted code may read with `getstatic`.
///
/// Belongs to the [`Constants`] that made it.
#[derive(Clone, Copy, Debug)]
pub struct FieldRef {
    pub(crate) index: u16,
    pub(crate) kind: Kind,
}

/// A method that inserted code may call with `invokestatic`.
///
/// Belongs to the [`Constants`] that made it.
#[derive(Clone, Copy, Debug)]
pub struct MethodRef {
    pub(crate) index: u16,
    /// Slots that a static call takes from the operand stack.
    pub(crate) argument_slots: u16,
    /// Slots that it leaves there.
    pub(crate) result_slots: u16,
}

/// A class that inserted code may push as an object.
///
/// Belongs to the [`Constants`] that made it.
#[derive(Clone, Copy, Debug)]
pub struct ClassRef {
    pub(crate) index: u16,
}

/// Any entry but a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Other {
    Integer(i32),
    Class(u16),
    NameAndType(u16, u16),
    /// A field or method reference with its tag.
    Member(u8, u16, u16),
}

impl Constants {
    /// Continues a pool whose `constant_pool_count` is `count`.
    pub(crate) fn new(count: usize) -> Self {
        // A count of 0 is as good as 1: there is no entry 0.
        let next = count.clamp(1, usize::from(u16::MAX)) as u16;
        Self { next, bytes: Vec::new(), strings: HashMap::new(), others: HashMap::new() }
    }

    /// The static field `class.name`; `class` is an internal name (`java/lang/System`).
    ///
    /// # Errors
    /// [`Error::ConstantPoolFull`], [`Error::BadDescriptor`].
    pub fn field_ref(
        &mut self,
        class: impl AsRef<[u8]>,
        name: impl AsRef<[u8]>,
        descriptor: impl AsRef<[u8]>,
    ) -> Result<FieldRef, Error> {
        let kind = Kind::of_field(descriptor.as_ref())?;
        let index =
            self.member(tag::FIELDREF, class.as_ref(), name.as_ref(), descriptor.as_ref())?;
        Ok(FieldRef { index, kind })
    }

    /// The static method `class.name`, where `class` is not an interface.
    ///
    /// # Errors
    /// [`Error::ConstantPoolFull`], [`Error::BadDescriptor`].
    pub fn method_ref(
        &mut self,
        class: impl AsRef<[u8]>,
        name: impl AsRef<[u8]>,
        descriptor: impl AsRef<[u8]>,
    ) -> Result<MethodRef, Error> {
        let shape = descriptor::Method::parse(descriptor.as_ref())?;
        let index =
            self.member(tag::METHODREF, class.as_ref(), name.as_ref(), descriptor.as_ref())?;
        Ok(MethodRef {
            index,
            argument_slots: shape.argument_slots,
            result_slots: shape.result.map_or(0, Kind::slots),
        })
    }

    /// The class or interface with this internal name (`java/lang/System`).
    ///
    /// # Errors
    /// [`Error::ConstantPoolFull`].
    pub fn class_ref(&mut self, name: impl AsRef<[u8]>) -> Result<ClassRef, Error> {
        self.class(name.as_ref()).map(|index| ClassRef { index })
    }

    /// The index of a `CONSTANT_Integer`.
    pub(crate) fn integer(&mut self, value: i32) -> Result<u16, Error> {
        self.other(Other::Integer(value))
    }

    /// The index of a `CONSTANT_Utf8` with these modified UTF-8 bytes.
    pub(crate) fn utf8(&mut self, text: &[u8]) -> Result<u16, Error> {
        if let Some(&index) = self.strings.get(text) {
            return Ok(index);
        }
        let length = u16::try_from(text.len()).map_err(|_| Error::ConstantPoolFull)?;
        let index = self.next_index()?;
        self.bytes.u1(tag::UTF8);
        self.bytes.u2(length);
        self.bytes.extend_from_slice(text);
        self.strings.insert(text.into(), index);
        Ok(index)
    }

    /// The index of a `CONSTANT_Class` with this name.
    pub(crate) fn class(&mut self, name: &[u8]) -> Result<u16, Error> {
        let name = self.utf8(name)?;
        self.other(Other::Class(name))
    }

    /// The index of a field or method reference; `kind` is its tag.
    pub(crate) fn member(
        &mut self,
        kind: u8,
        class: &[u8],
        name: &[u8],
        descriptor: &[u8],
    ) -> Result<u16, Error> {
        let class = self.class(class)?;
        let name = self.utf8(name)?;
        let descriptor = self.utf8(descriptor)?;
        let name_and_type = self.other(Other::NameAndType(name, descriptor))?;
        self.other(Other::Member(kind, class, name_and_type))
    }

    /// `constant_pool_count` of the pool with what was added.
    pub(crate) fn count(&self) -> u16 {
        self.next
    }

    /// The entries that were added, as they stand in a file.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn other(&mut self, entry: Other) -> Result<u16, Error> {
        if let Some(&index) = self.others.get(&entry) {
            return Ok(index);
        }
        let index = self.next_index()?;
        match entry {
            Other::Integer(value) => {
                self.bytes.u1(tag::INTEGER);
                self.bytes.u4(value as u32);
            }
            Other::Class(name) => {
                self.bytes.u1(tag::CLASS);
                self.bytes.u2(name);
            }
            Other::NameAndType(name, descriptor) => {
                self.bytes.u1(tag::NAME_AND_TYPE);
                self.bytes.u2(name);
                self.bytes.u2(descriptor);
            }
            Other::Member(kind, class, name_and_type) => {
                self.bytes.u1(kind);
                self.bytes.u2(class);
                self.bytes.u2(name_and_type);
            }
        }
        self.others.insert(entry, index);
        Ok(index)
    }

    fn next_index(&mut self) -> Result<u16, Error> {
        let index = self.next;
        self.next = index.checked_add(1).ok_or(Error::ConstantPoolFull)?;
        Ok(index)
    }
}
