//! Constants for writing: the entries of a pool, and the entries that edits add to one.

use std::collections::HashMap;

use crate::Error;
use crate::bytes::Write;
use crate::constant_pool::{ConstantPool, tag};
use crate::descriptor::{self, Kind};

/// Texts that most edits need and most pools have. If one is added again, HotSpot renumbers the constants in all code
/// of a class that it redefines. It also compares each added constant with the whole pool.
const COMMON: [&[u8]; 3] = [b"(I)V", b"StackMapTable", b"java/lang/Throwable"];

/// The entries that edits append to a class's constant pool.
///
/// The pool's own entries keep their indices, so nothing outside the edited methods changes. Added entries are reused.
/// Of the pool's own entries only a few common ones are.
#[derive(Debug)]
pub struct Constants {
    entries: Entries,
    strings: HashMap<Box<[u8]>, u16>,
    others: HashMap<Other, u16>,
}

/// A field that inserted code may read with `getstatic`.
///
/// It belongs to the [`Constants`] that created it.
#[derive(Clone, Copy, Debug)]
pub struct FieldRef {
    pub(crate) index: u16,
    pub(crate) kind: Kind,
}

/// A method that inserted code may call with `invokestatic`.
///
/// It belongs to the [`Constants`] that created it.
#[derive(Clone, Copy, Debug)]
pub struct MethodRef {
    pub(crate) index: u16,
    /// The number of slots that a static call takes from the operand stack.
    pub(crate) argument_slots: u16,
    /// The number of slots that it leaves there.
    pub(crate) result_slots: u16,
}

/// Any entry except a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Other {
    Integer(i32),
    Class(u16),
    NameAndType(u16, u16),
    /// A field or method reference with its tag.
    Member(u8, u16, u16),
}

impl Constants {
    /// Continues a pool.
    pub(crate) fn new(pool: &ConstantPool<'_>) -> Self {
        let (mut strings, mut others) = (HashMap::<Box<[u8]>, u16>::new(), HashMap::new());
        let indices = || 1..pool.len() as u16;
        for index in indices() {
            if let Some(text) = pool.utf8(index).ok().filter(|text| COMMON.contains(text)) {
                strings.entry(text.into()).or_insert(index);
            }
        }
        for index in indices() {
            // Few names are common, and comparing one costs less than hashing it.
            if let Some(name) = pool.class(index).ok().filter(|name| COMMON.contains(name)) {
                others.entry(Other::Class(strings[name])).or_insert(index);
            }
        }
        Self { entries: Entries::new(pool.len()), strings, others }
    }

    /// Returns the static field `class.name`; `class` is an internal name (`java/lang/System`).
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

    /// Returns the static method `class.name`, where `class` is not an interface.
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

    /// Returns the index of a `CONSTANT_Integer`.
    pub(crate) fn integer(&mut self, value: i32) -> Result<u16, Error> {
        self.other(Other::Integer(value))
    }

    /// Returns the index of a `CONSTANT_Utf8` with these modified UTF-8 bytes.
    pub(crate) fn utf8(&mut self, text: &[u8]) -> Result<u16, Error> {
        if let Some(&index) = self.strings.get(text) {
            return Ok(index);
        }
        let index = self.entries.utf8(text)?;
        self.strings.insert(text.into(), index);
        Ok(index)
    }

    /// Returns the index of a `CONSTANT_Class` with this name.
    pub(crate) fn class(&mut self, name: &[u8]) -> Result<u16, Error> {
        let name = self.utf8(name)?;
        self.other(Other::Class(name))
    }

    /// Returns the index of a field or method reference; `kind` is its tag.
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

    /// Returns `constant_pool_count` of the pool with the added entries.
    pub(crate) fn count(&self) -> u16 {
        self.entries.count()
    }

    /// Returns the bytes of the added entries.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.entries.bytes()
    }

    fn other(&mut self, entry: Other) -> Result<u16, Error> {
        if let Some(&index) = self.others.get(&entry) {
            return Ok(index);
        }
        let index = match entry {
            Other::Integer(value) => self.entries.integer(value)?,
            Other::Class(name) => self.entries.class(name)?,
            Other::NameAndType(name, descriptor) => self.entries.name_and_type(name, descriptor)?,
            Other::Member(kind, class, name_and_type) => {
                self.entries.pair(kind, class, name_and_type)?
            }
        };
        self.others.insert(entry, index);
        Ok(index)
    }
}

/// Entries of a constant pool, one after the other. An entry is written anew for each request.
#[derive(Clone, Debug)]
pub(crate) struct Entries {
    /// The index of the next entry.
    next: u16,
    bytes: Vec<u8>,
}

impl Entries {
    /// Continues a pool whose `constant_pool_count` is `count`.
    pub fn new(count: usize) -> Self {
        // A count of 0 is treated as 1, because there is no entry 0.
        let next = count.clamp(1, usize::from(u16::MAX)) as u16;
        Self { next, bytes: Vec::new() }
    }

    /// Returns `constant_pool_count`: the last index plus one.
    pub fn count(&self) -> u16 {
        self.next
    }

    /// Returns the bytes of the entries.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn utf8(&mut self, text: &[u8]) -> Result<u16, Error> {
        let length = u16::try_from(text.len()).map_err(|_| Error::ConstantPoolFull)?;
        self.entry(tag::UTF8, 1, &[&length.to_be_bytes(), text])
    }

    pub fn integer(&mut self, value: i32) -> Result<u16, Error> {
        self.entry(tag::INTEGER, 1, &[&value.to_be_bytes()])
    }

    pub fn long(&mut self, value: i64) -> Result<u16, Error> {
        self.entry(tag::LONG, 2, &[&value.to_be_bytes()])
    }

    pub fn class(&mut self, name: u16) -> Result<u16, Error> {
        self.entry(tag::CLASS, 1, &[&name.to_be_bytes()])
    }

    pub fn string(&mut self, text: u16) -> Result<u16, Error> {
        self.entry(tag::STRING, 1, &[&text.to_be_bytes()])
    }

    pub fn name_and_type(&mut self, name: u16, descriptor: u16) -> Result<u16, Error> {
        self.pair(tag::NAME_AND_TYPE, name, descriptor)
    }

    /// Writes an entry that consists of a tag and two indices.
    pub fn pair(&mut self, tag: u8, one: u16, other: u16) -> Result<u16, Error> {
        self.entry(tag, 1, &[&one.to_be_bytes(), &other.to_be_bytes()])
    }

    /// Writes an entry that takes `indices` indices.
    fn entry(&mut self, tag: u8, indices: u16, content: &[&[u8]]) -> Result<u16, Error> {
        let index = self.next;
        self.next = index.checked_add(indices).ok_or(Error::ConstantPoolFull)?;
        self.bytes.u1(tag);
        content.iter().for_each(|part| self.bytes.extend_from_slice(part));
        Ok(index)
    }
}
