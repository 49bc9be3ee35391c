//! Bodies for native methods.

use crate::bytes::Write;
use crate::class_file::access;
use crate::constant_pool::tag;
use crate::descriptor::{self, Kind};
use crate::snippet::load;
use crate::{Constants, Error, Method, Skip, opcode};

/// What takes a native method's place.
#[derive(Debug)]
pub(crate) struct Wrapper {
    /// The method's flags without `native`.
    pub access_flags: u16,
    /// The contents of its `Code` attribute.
    pub code: Vec<u8>,
    /// The `method_info` of the native method that it calls.
    pub native: Vec<u8>,
}

impl Wrapper {
    pub fn new(method: Method<'_>, prefix: &[u8], constants: &mut Constants) -> Result<Self, Skip> {
        if !method.is_native() || method.has_code() {
            return Err(Skip::NotNative);
        }
        let name = [prefix, method.name()].concat();
        let class = method.class().name();
        let callee = constants.member(tag::METHODREF, class, &name, method.descriptor())?;

        // Private, so that no subclass overrides it by wrapping a method of the same name.
        let flags = access::PRIVATE
            | access::NATIVE
            | access::SYNTHETIC
            | (method.access_flags() & access::STATIC);
        let mut native = Vec::new();
        native.u2(flags);
        native.u2(constants.utf8(&name)?);
        native.u2(constants.utf8(method.descriptor())?);
        native.u2(0);

        let code = call(method, callee)?;
        let access_flags = method.access_flags() & !access::NATIVE;
        Ok(Self { access_flags, code, native })
    }
}

/// A body that passes all arguments on and returns the result.
fn call(method: Method<'_>, callee: u16) -> Result<Vec<u8>, Error> {
    let shape = descriptor::Method::parse(method.descriptor())?;
    let mut code = Vec::new();
    let mut slot = 0;
    if !method.is_static() {
        load(&mut code, Kind::Reference, slot);
        slot += 1;
    }
    for parameter in shape.parameters {
        let kind = Kind::of(parameter?);
        load(&mut code, kind, slot);
        slot = slot.checked_add(kind.slots()).ok_or(Error::BadDescriptor)?;
    }
    code.u1(if method.is_static() { opcode::INVOKESTATIC } else { opcode::INVOKESPECIAL });
    code.u2(callee);
    code.u1(shape.result.map_or(opcode::RETURN, |kind| opcode::IRETURN + kind.offset()));

    let mut contents = Vec::with_capacity(code.len() + 12);
    contents.u2(slot.max(shape.result.map_or(0, Kind::slots)));
    contents.u2(slot);
    contents.u4(code.len() as u32);
    contents.extend_from_slice(&code);
    // Neither handlers nor attributes.
    contents.u2(0);
    contents.u2(0);
    Ok(contents)
}
