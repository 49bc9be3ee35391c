//! Creation of class files from scratch.

use crate::access;
use crate::bytes::Write;
use crate::constant_pool::tag;
use crate::constants::Entries;

/// A class file that is being built.
///
/// The contents are not checked. A constant is written anew for each request.
///
/// # Panics
/// Methods that add a constant panic if the pool is full, or if a text is longer than 65,535 bytes.
#[derive(Clone, Debug)]
pub struct ClassBuilder {
    minor: u16,
    major: u16,
    access: u16,
    pool: Entries,
    this: u16,
    parent: u16,
    interfaces: Table,
    fields: Table,
    methods: Table,
    attributes: Table,
}

const FULL: &str = "the constant pool has room";

/// Structures, preceded by their number in the file.
#[derive(Clone, Debug, Default)]
struct Table {
    count: u16,
    bytes: Vec<u8>,
}

impl Table {
    fn add(&mut self, bytes: &[u8]) {
        self.count += 1;
        self.bytes.extend_from_slice(bytes);
    }

    fn write(&self, file: &mut Vec<u8>) {
        file.u2(self.count);
        file.extend_from_slice(&self.bytes);
    }
}

/// A `Code` attribute that is being built.
#[derive(Clone, Debug, Default)]
pub struct Body {
    /// The maximum depth of the operand stack.
    pub max_stack: u16,
    /// The number of local variables.
    pub max_locals: u16,
    /// The code array.
    pub code: Vec<u8>,
    /// `start_pc`, `end_pc`, `handler_pc`, `catch_type`.
    pub handlers: Vec<[u16; 4]>,
    /// The names of attributes and their contents.
    pub attributes: Vec<(&'static str, Vec<u8>)>,
}

impl Body {
    /// Creates code without handlers and attributes.
    pub fn new(max_stack: u16, max_locals: u16, code: impl Into<Vec<u8>>) -> Self {
        Self { max_stack, max_locals, code: code.into(), ..Self::default() }
    }

    /// Adds a handler for all exceptions.
    #[must_use]
    pub fn handler(self, start: u16, end: u16, handler: u16) -> Self {
        self.handler_of(start, end, handler, 0)
    }

    /// Adds a handler at `handler` for exceptions in `start..end` that are instances of the class in
    /// the constant `catch_type`.
    #[must_use]
    pub fn handler_of(mut self, start: u16, end: u16, handler: u16, catch_type: u16) -> Self {
        self.handlers.push([start, end, handler, catch_type]);
        self
    }

    /// Adds an attribute.
    #[must_use]
    pub fn attribute(mut self, name: &'static str, info: impl Into<Vec<u8>>) -> Self {
        self.attributes.push((name, info.into()));
        self
    }
}

impl ClassBuilder {
    /// Creates a public class that extends `java/lang/Object`, with this internal name.
    pub fn new(major: u16, name: impl AsRef<[u8]>) -> Self {
        let mut class = Self {
            minor: 0,
            major,
            access: access::PUBLIC | access::SUPER,
            pool: Entries::new(1),
            this: 0,
            parent: 0,
            interfaces: Table::default(),
            fields: Table::default(),
            methods: Table::default(),
            attributes: Table::default(),
        };
        const OBJECT: &[u8] = b"java/lang/Object";
        class.this = class.class(&name);
        if name.as_ref() != OBJECT {
            class.parent = class.class(OBJECT);
        }
        class
    }

    /// Sets the minor version, which is 0 by default.
    pub fn minor(&mut self, minor: u16) -> &mut Self {
        self.minor = minor;
        self
    }

    /// Sets the access flags.
    pub fn access(&mut self, access: u16) -> &mut Self {
        self.access = access;
        self
    }

    /// Adds an interface that the class implements.
    pub fn implements(&mut self, interface: impl AsRef<[u8]>) -> &mut Self {
        let index = self.class(interface);
        self.interfaces.add(&index.to_be_bytes());
        self
    }

    /// Returns the index of a new `CONSTANT_Utf8`.
    pub fn utf8(&mut self, text: impl AsRef<[u8]>) -> u16 {
        self.pool.utf8(text.as_ref()).expect(FULL)
    }

    /// Returns the index of a new `CONSTANT_Class`.
    pub fn class(&mut self, name: impl AsRef<[u8]>) -> u16 {
        let name = self.utf8(name);
        self.pool.class(name).expect(FULL)
    }

    /// Returns the index of a new `CONSTANT_Integer`.
    pub fn int(&mut self, value: i32) -> u16 {
        self.pool.integer(value).expect(FULL)
    }

    /// Returns the index of a new `CONSTANT_Long`.
    pub fn long(&mut self, value: i64) -> u16 {
        self.pool.long(value).expect(FULL)
    }

    /// Returns the index of a new `CONSTANT_String`.
    pub fn string(&mut self, text: impl AsRef<[u8]>) -> u16 {
        let text = self.utf8(text);
        self.pool.string(text).expect(FULL)
    }

    /// Returns the index of a new `CONSTANT_Dynamic` (tag 17) or `CONSTANT_InvokeDynamic` (18) with
    /// bootstrap method 0.
    pub fn dynamic(&mut self, tag: u8, name: &str, descriptor: &str) -> u16 {
        let name_and_type = self.name_and_type(name, descriptor);
        self.pool.pair(tag, 0, name_and_type).expect(FULL)
    }

    /// Returns the index of a new `CONSTANT_Methodref`.
    pub fn method_ref(&mut self, class: &str, name: &str, descriptor: &str) -> u16 {
        self.member(tag::METHODREF, class, name, descriptor)
    }

    /// Returns the index of a new `CONSTANT_Fieldref`.
    pub fn field_ref(&mut self, class: &str, name: &str, descriptor: &str) -> u16 {
        self.member(tag::FIELDREF, class, name, descriptor)
    }

    fn member(&mut self, tag: u8, class: &str, name: &str, descriptor: &str) -> u16 {
        let name_and_type = self.name_and_type(name, descriptor);
        let class = self.class(class);
        self.pool.pair(tag, class, name_and_type).expect(FULL)
    }

    fn name_and_type(&mut self, name: &str, descriptor: &str) -> u16 {
        let (name, descriptor) = (self.utf8(name), self.utf8(descriptor));
        self.pool.name_and_type(name, descriptor).expect(FULL)
    }

    /// Returns the number of used constant indices.
    pub fn constants(&self) -> u16 {
        self.pool.count() - 1
    }

    /// Adds a field.
    pub fn field(&mut self, access: u16, name: impl AsRef<[u8]>, descriptor: impl AsRef<[u8]>) {
        let field = self.member_info(access, name, descriptor, &[]);
        self.fields.add(&field);
    }

    /// Adds a method without code.
    pub fn bodiless(&mut self, access: u16, name: impl AsRef<[u8]>, descriptor: impl AsRef<[u8]>) {
        let method = self.member_info(access, name, descriptor, &[]);
        self.methods.add(&method);
    }

    /// Adds a method with code.
    pub fn method(&mut self, access: u16, name: &str, descriptor: &str, body: &Body) {
        let mut info = Vec::new();
        if (self.major, self.minor) < (45, 3) {
            info.extend([body.max_stack as u8, body.max_locals as u8]);
            info.u2(body.code.len() as u16);
        } else {
            info.u2(body.max_stack);
            info.u2(body.max_locals);
            info.u4(body.code.len() as u32);
        }
        info.extend_from_slice(&body.code);
        info.u2(body.handlers.len() as u16);
        body.handlers.iter().flatten().for_each(|field| info.u2(*field));
        info.u2(body.attributes.len() as u16);
        for (name, contents) in &body.attributes {
            info.extend(self.attribute_info(name, contents));
        }
        let code = self.attribute_info("Code", &info);
        let method = self.member_info(access, name, descriptor, &code);
        self.methods.add(&method);
    }

    /// Adds an attribute of the class.
    pub fn attribute(&mut self, name: &str, info: &[u8]) {
        let attribute = self.attribute_info(name, info);
        self.attributes.add(&attribute);
    }

    fn attribute_info(&mut self, name: &str, info: &[u8]) -> Vec<u8> {
        let name = self.utf8(name);
        [&name.to_be_bytes()[..], &(info.len() as u32).to_be_bytes(), info].concat()
    }

    /// Returns the bytes of a field or method with at most one attribute.
    fn member_info(
        &mut self,
        access: u16,
        name: impl AsRef<[u8]>,
        descriptor: impl AsRef<[u8]>,
        attribute: &[u8],
    ) -> Vec<u8> {
        let (name, descriptor) = (self.utf8(name), self.utf8(descriptor));
        let mut info = Vec::new();
        for part in [access, name, descriptor, u16::from(!attribute.is_empty())] {
            info.u2(part);
        }
        info.extend_from_slice(attribute);
        info
    }

    /// Returns the bytes of the file.
    pub fn finish(&self) -> Vec<u8> {
        let mut file = Vec::new();
        file.u4(0xCAFE_BABE);
        for part in [self.minor, self.major, self.pool.count()] {
            file.u2(part);
        }
        file.extend_from_slice(self.pool.bytes());
        for part in [self.access, self.this, self.parent] {
            file.u2(part);
        }
        for table in [&self.interfaces, &self.fields, &self.methods, &self.attributes] {
            table.write(&mut file);
        }
        file
    }
}
