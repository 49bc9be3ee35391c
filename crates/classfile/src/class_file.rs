//! A class file (JVMS §4.1) and its members (§4.5, §4.6).

use std::ops::Range;

use crate::bytes::Reader;
use crate::{Attribute, Attributes, ConstantPool, Error};

/// Flags of classes, fields and methods (JVMS tables 4.1-B, 4.5-A, 4.6-A).
pub mod access {
    #![allow(missing_docs)] // The names are the specification's.
    pub const PUBLIC: u16 = 0x0001;
    pub const PRIVATE: u16 = 0x0002;
    pub const PROTECTED: u16 = 0x0004;
    pub const STATIC: u16 = 0x0008;
    pub const FINAL: u16 = 0x0010;
    pub const SUPER: u16 = 0x0020;
    pub const SYNCHRONIZED: u16 = 0x0020;
    pub const BRIDGE: u16 = 0x0040;
    pub const VARARGS: u16 = 0x0080;
    pub const NATIVE: u16 = 0x0100;
    pub const INTERFACE: u16 = 0x0200;
    pub const ABSTRACT: u16 = 0x0400;
    pub const STRICT: u16 = 0x0800;
    pub const SYNTHETIC: u16 = 0x1000;
    pub const MODULE: u16 = 0x8000;
}

/// A class file, parsed as far as its members and attributes.
///
/// Everything borrows from the bytes given to [`parse`](Self::parse). Names are modified UTF-8
/// (JVMS §4.4.7), class names in internal form (`java/lang/Object`).
#[derive(Debug)]
pub struct ClassFile<'a> {
    bytes: &'a [u8],
    pool: ConstantPool<'a>,
    /// The offset of `access_flags`, after the constant pool.
    pool_end: usize,
    access_flags: u16,
    this_class: &'a [u8],
    super_class: Option<&'a [u8]>,
    /// The indices of the interfaces' `CONSTANT_Class` entries.
    interfaces: &'a [u8],
    fields: Vec<Member<'a>>,
    methods: Vec<Member<'a>>,
    /// The offset of the class's own attributes, after the methods.
    methods_end: usize,
}

/// The common part of fields and methods; positions are offsets in the file.
#[derive(Debug)]
pub(crate) struct Member<'a> {
    pub access_flags: u16,
    pub name: &'a [u8],
    pub descriptor: &'a [u8],
    /// The offset of `attributes_count`.
    pub attributes: usize,
    /// The range of the `Code` attribute, including its name and length.
    pub code: Option<Range<usize>>,
}

impl<'a> ClassFile<'a> {
    /// Parses a class file of any version from 45.0 on.
    ///
    /// Code is not checked: its faults appear when it is read or edited.
    ///
    /// # Errors
    /// Fails if the file violates JVMS §4.1 to §4.7.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes, "class file");
        let magic = reader.u4()?;
        if magic != 0xCAFE_BABE {
            return Err(Error::BadMagic(magic));
        }
        let _minor = reader.u2()?;
        let major = reader.u2()?;
        if major < 45 {
            return Err(Error::BadVersion(major));
        }
        let pool = ConstantPool::read(bytes, &mut reader)?;
        let pool_end = reader.at();
        let access_flags = reader.u2()?;
        let this_class = pool.class(reader.u2()?)?;
        // §4.1: 0 in java/lang/Object and in modules.
        let super_class = match reader.u2()? {
            0 => None,
            index => Some(pool.class(index)?),
        };
        let interface_count = reader.u2()?;
        let interfaces = reader.take(2 * usize::from(interface_count))?;
        for index in interfaces.chunks_exact(2) {
            pool.class(u16::from_be_bytes([index[0], index[1]]))?;
        }
        let fields = Member::read_table(&mut reader, &pool)?;
        let methods = Member::read_table(&mut reader, &pool)?;
        let methods_end = reader.at();
        for _ in 0..reader.u2()? {
            Attribute::read(&mut reader, &pool)?;
        }
        reader.finish()?;
        Ok(Self {
            bytes,
            pool,
            pool_end,
            access_flags,
            this_class,
            super_class,
            interfaces,
            fields,
            methods,
            methods_end,
        })
    }

    /// Returns the bytes that were parsed.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns `major_version`: 45 to 48 for JDK 1.1 to 1.4, then the JDK's number plus 44.
    #[must_use]
    pub fn major_version(&self) -> u16 {
        u16::from_be_bytes([self.bytes[6], self.bytes[7]])
    }

    /// Returns `minor_version`; 65535 marks preview features (JVMS §4.1).
    #[must_use]
    pub fn minor_version(&self) -> u16 {
        u16::from_be_bytes([self.bytes[4], self.bytes[5]])
    }

    /// Returns the constant pool.
    #[must_use]
    pub fn constant_pool(&self) -> &ConstantPool<'a> {
        &self.pool
    }

    /// Returns the class's own flags; see [`access`].
    #[must_use]
    pub fn access_flags(&self) -> u16 {
        self.access_flags
    }

    /// Returns true if this is an interface (or annotation interface).
    #[must_use]
    pub fn is_interface(&self) -> bool {
        self.access_flags & access::INTERFACE != 0
    }

    /// Returns the class's name.
    #[must_use]
    pub fn name(&self) -> &'a [u8] {
        self.this_class
    }

    /// Returns the name of the direct superclass; none in `java/lang/Object` and `module-info`.
    #[must_use]
    pub fn super_name(&self) -> Option<&'a [u8]> {
        self.super_class
    }

    /// Returns the names of the direct superinterfaces.
    pub fn interface_names(&self) -> impl Iterator<Item = &'a [u8]> {
        self.interfaces
            .chunks_exact(2)
            .filter_map(|index| self.pool.class(u16::from_be_bytes([index[0], index[1]])).ok())
    }

    /// Returns the fields in file order.
    pub fn fields(&self) -> impl ExactSizeIterator<Item = Field<'_>> {
        self.fields.iter().map(|member| Field { class: self, member })
    }

    /// Returns the methods in file order.
    pub fn methods(&self) -> impl ExactSizeIterator<Item = Method<'_>> {
        (0..self.methods.len()).map(|index| Method::new(self, index))
    }

    /// Returns the method with this index in file order.
    #[must_use]
    pub fn method(&self, index: usize) -> Option<Method<'_>> {
        (index < self.methods.len()).then(|| Method::new(self, index))
    }

    /// Returns the class's own attributes.
    #[must_use]
    pub fn attributes(&self) -> Attributes<'_> {
        Attributes::checked(self.bytes, self.methods_end, &self.pool)
    }

    /// Returns the name in the `SourceFile` attribute (JVMS §4.7.10).
    #[must_use]
    pub fn source_file(&self) -> Option<&'a [u8]> {
        let index = self.attributes().find(b"SourceFile")?;
        self.pool.utf8(u16::from_be_bytes(index.try_into().ok()?)).ok()
    }

    pub(crate) fn pool_end(&self) -> usize {
        self.pool_end
    }

    pub(crate) fn members(&self) -> &[Member<'a>] {
        &self.methods
    }

    /// Returns true if the fixed part of a `Code` attribute is narrower, as before version 45.3. The JVM still
    /// reads it.
    pub(crate) fn has_old_code(&self) -> bool {
        (self.major_version(), self.minor_version()) < (45, 3)
    }
}

impl<'a> Member<'a> {
    fn read_table(reader: &mut Reader<'a>, pool: &ConstantPool<'a>) -> Result<Vec<Self>, Error> {
        let count = reader.u2()?;
        // A hostile count must not reserve more than the file could hold.
        let mut members = Vec::with_capacity(usize::from(count).min(1024));
        for _ in 0..count {
            members.push(Self::read(reader, pool)?);
        }
        Ok(members)
    }

    fn read(reader: &mut Reader<'a>, pool: &ConstantPool<'a>) -> Result<Self, Error> {
        let access_flags = reader.u2()?;
        let name = pool.utf8(reader.u2()?)?;
        let descriptor = pool.utf8(reader.u2()?)?;
        let attributes = reader.at();
        let mut code = None;
        for _ in 0..reader.u2()? {
            let from = reader.at();
            if Attribute::read(reader, pool)?.name == b"Code" {
                code = code.or(Some(from..reader.at()));
            }
        }
        Ok(Self { access_flags, name, descriptor, attributes, code })
    }
}

/// A field of a class.
#[derive(Clone, Copy, Debug)]
pub struct Field<'c> {
    class: &'c ClassFile<'c>,
    member: &'c Member<'c>,
}

impl<'c> Field<'c> {
    /// Returns its flags; see [`access`].
    #[must_use]
    pub fn access_flags(&self) -> u16 {
        self.member.access_flags
    }

    /// Returns true if it belongs to the class, not to its instances.
    #[must_use]
    pub fn is_static(&self) -> bool {
        self.member.access_flags & access::STATIC != 0
    }

    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &'c [u8] {
        self.member.name
    }

    /// Returns its descriptor (JVMS §4.3.2).
    #[must_use]
    pub fn descriptor(&self) -> &'c [u8] {
        self.member.descriptor
    }

    /// Returns its attributes.
    #[must_use]
    pub fn attributes(&self) -> Attributes<'c> {
        Attributes::checked(self.class.bytes, self.member.attributes, &self.class.pool)
    }
}

/// A method of a class.
#[derive(Clone, Copy, Debug)]
pub struct Method<'c> {
    class: &'c ClassFile<'c>,
    member: &'c Member<'c>,
    index: usize,
}

impl<'c> Method<'c> {
    fn new(class: &'c ClassFile<'c>, index: usize) -> Self {
        Self { class, member: &class.methods[index], index }
    }

    /// Returns its index in file order, as used by [`Editor::method`](crate::Editor::method).
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns its flags; see [`access`].
    #[must_use]
    pub fn access_flags(&self) -> u16 {
        self.member.access_flags
    }

    /// Returns true if it has no `this`.
    #[must_use]
    pub fn is_static(&self) -> bool {
        self.member.access_flags & access::STATIC != 0
    }

    /// Returns true if it is implemented outside Java.
    #[must_use]
    pub fn is_native(&self) -> bool {
        self.member.access_flags & access::NATIVE != 0
    }

    /// Returns true if it has no implementation.
    #[must_use]
    pub fn is_abstract(&self) -> bool {
        self.member.access_flags & access::ABSTRACT != 0
    }

    /// Returns true if it is an instance initialization method (JVMS §2.9.1).
    #[must_use]
    pub fn is_constructor(&self) -> bool {
        self.member.name == b"<init>"
    }

    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &'c [u8] {
        self.member.name
    }

    /// Returns its descriptor (JVMS §4.3.3).
    #[must_use]
    pub fn descriptor(&self) -> &'c [u8] {
        self.member.descriptor
    }

    /// Returns its attributes.
    #[must_use]
    pub fn attributes(&self) -> Attributes<'c> {
        Attributes::checked(self.class.bytes, self.member.attributes, &self.class.pool)
    }

    /// Returns true if it has a `Code` attribute: it is neither abstract nor native.
    #[must_use]
    pub fn has_code(&self) -> bool {
        self.member.code.is_some()
    }

    /// Returns the contents of its `Code` attribute, after the attribute's name and length.
    pub(crate) fn code_info(&self) -> Option<&'c [u8]> {
        self.member.code.clone().map(|span| &self.class.bytes[span][6..])
    }

    pub(crate) fn class(&self) -> &'c ClassFile<'c> {
        self.class
    }
}
