//! Class files from scratch, byte by byte, independent of the crate under test.

/// A class file in the making.
#[derive(Clone)]
pub struct ClassBuilder {
    minor: u16,
    major: u16,
    access: u16,
    pool: Vec<u8>,
    next: u16,
    this: u16,
    parent: u16,
    fields: Vec<u8>,
    field_count: u16,
    methods: Vec<u8>,
    method_count: u16,
    attributes: Vec<u8>,
    attribute_count: u16,
}

/// A `Code` attribute in the making.
#[derive(Clone, Default)]
pub struct Body {
    pub max_stack: u16,
    pub max_locals: u16,
    pub code: Vec<u8>,
    /// `start_pc`, `end_pc`, `handler_pc`, `catch_type`.
    pub handlers: Vec<[u16; 4]>,
    pub attributes: Vec<(&'static str, Vec<u8>)>,
}

impl Body {
    pub fn new(max_stack: u16, max_locals: u16, code: impl Into<Vec<u8>>) -> Self {
        Self { max_stack, max_locals, code: code.into(), ..Self::default() }
    }

    pub fn handler(mut self, start: u16, end: u16, handler: u16) -> Self {
        self.handlers.push([start, end, handler, 0]);
        self
    }

    pub fn attribute(mut self, name: &'static str, info: impl Into<Vec<u8>>) -> Self {
        self.attributes.push((name, info.into()));
        self
    }
}

impl ClassBuilder {
    /// A public class that extends `java/lang/Object`.
    pub fn new(major: u16, name: &str) -> Self {
        let mut class = Self {
            minor: 0,
            major,
            access: 0x0021,
            pool: Vec::new(),
            next: 1,
            this: 0,
            parent: 0,
            fields: Vec::new(),
            field_count: 0,
            methods: Vec::new(),
            method_count: 0,
            attributes: Vec::new(),
            attribute_count: 0,
        };
        class.this = class.class(name);
        if name != "java/lang/Object" {
            class.parent = class.class("java/lang/Object");
        }
        class
    }

    pub fn minor(&mut self, minor: u16) -> &mut Self {
        self.minor = minor;
        self
    }

    fn entry(&mut self, bytes: &[&[u8]]) -> u16 {
        for part in bytes {
            self.pool.extend_from_slice(part);
        }
        self.next += 1;
        self.next - 1
    }

    pub fn utf8(&mut self, text: &str) -> u16 {
        self.entry(&[&[1], &(text.len() as u16).to_be_bytes(), text.as_bytes()])
    }

    pub fn class(&mut self, name: &str) -> u16 {
        let name = self.utf8(name);
        self.entry(&[&[7], &name.to_be_bytes()])
    }

    pub fn long(&mut self, value: i64) -> u16 {
        self.entry(&[&[5], &value.to_be_bytes()]);
        self.next += 1;
        self.next - 2
    }

    pub fn string(&mut self, text: &str) -> u16 {
        let text = self.utf8(text);
        self.entry(&[&[8], &text.to_be_bytes()])
    }

    /// A `CONSTANT_Dynamic` (tag 17) or `CONSTANT_InvokeDynamic` (18) with bootstrap method 0.
    pub fn dynamic(&mut self, tag: u8, name: &str, descriptor: &str) -> u16 {
        let name_and_type = self.name_and_type(name, descriptor);
        self.entry(&[&[tag, 0, 0], &name_and_type.to_be_bytes()])
    }

    fn name_and_type(&mut self, name: &str, descriptor: &str) -> u16 {
        let (name, descriptor) = (self.utf8(name), self.utf8(descriptor));
        self.entry(&[&[12], &name.to_be_bytes(), &descriptor.to_be_bytes()])
    }

    pub fn int(&mut self, value: i32) -> u16 {
        self.entry(&[&[3], &value.to_be_bytes()])
    }

    fn member(&mut self, tag: u8, class: &str, name: &str, descriptor: &str) -> u16 {
        let name_and_type = self.name_and_type(name, descriptor);
        let class = self.class(class);
        self.entry(&[&[tag], &class.to_be_bytes(), &name_and_type.to_be_bytes()])
    }

    pub fn method_ref(&mut self, class: &str, name: &str, descriptor: &str) -> u16 {
        self.member(10, class, name, descriptor)
    }

    pub fn field_ref(&mut self, class: &str, name: &str, descriptor: &str) -> u16 {
        self.member(9, class, name, descriptor)
    }

    pub fn field(&mut self, access: u16, name: &str, descriptor: &str) {
        let (name, descriptor) = (self.utf8(name), self.utf8(descriptor));
        for part in [access, name, descriptor, 0] {
            self.fields.extend_from_slice(&part.to_be_bytes());
        }
        self.field_count += 1;
    }

    pub fn attribute(&mut self, name: &str, info: &[u8]) {
        let bytes = self.encode_attribute(name, info);
        self.attributes.extend_from_slice(&bytes);
        self.attribute_count += 1;
    }

    fn encode_attribute(&mut self, name: &str, info: &[u8]) -> Vec<u8> {
        let name = self.utf8(name);
        [&name.to_be_bytes()[..], &(info.len() as u32).to_be_bytes(), info].concat()
    }

    /// A method without code.
    pub fn bodiless(&mut self, access: u16, name: &str, descriptor: &str) {
        self.member_info(access, name, descriptor, &[]);
    }

    pub fn method(&mut self, access: u16, name: &str, descriptor: &str, body: &Body) {
        let mut info = Vec::new();
        if (self.major, self.minor) < (45, 3) {
            info.extend([body.max_stack as u8, body.max_locals as u8]);
            info.extend((body.code.len() as u16).to_be_bytes());
        } else {
            info.extend(body.max_stack.to_be_bytes());
            info.extend(body.max_locals.to_be_bytes());
            info.extend((body.code.len() as u32).to_be_bytes());
        }
        info.extend_from_slice(&body.code);
        info.extend((body.handlers.len() as u16).to_be_bytes());
        info.extend(body.handlers.iter().flatten().flat_map(|field| field.to_be_bytes()));
        info.extend((body.attributes.len() as u16).to_be_bytes());
        for (name, contents) in &body.attributes {
            info.extend(self.encode_attribute(name, contents));
        }
        let code = self.encode_attribute("Code", &info);
        self.member_info(access, name, descriptor, &code);
    }

    fn member_info(&mut self, access: u16, name: &str, descriptor: &str, attributes: &[u8]) {
        let (name, descriptor) = (self.utf8(name), self.utf8(descriptor));
        for part in [access, name, descriptor, u16::from(!attributes.is_empty())] {
            self.methods.extend_from_slice(&part.to_be_bytes());
        }
        self.methods.extend_from_slice(attributes);
        self.method_count += 1;
    }

    /// How many constants there are.
    pub fn constants(&self) -> u16 {
        self.next - 1
    }

    pub fn finish(&self) -> Vec<u8> {
        [
            &0xCAFE_BABE_u32.to_be_bytes()[..],
            &self.minor.to_be_bytes(),
            &self.major.to_be_bytes(),
            &self.next.to_be_bytes(),
            &self.pool,
            &self.access.to_be_bytes(),
            &self.this.to_be_bytes(),
            &self.parent.to_be_bytes(),
            &0_u16.to_be_bytes(),
            &self.field_count.to_be_bytes(),
            &self.fields,
            &self.method_count.to_be_bytes(),
            &self.methods,
            &self.attribute_count.to_be_bytes(),
            &self.attributes,
        ]
        .concat()
    }
}
