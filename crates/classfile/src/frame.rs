//! Frames: the types of locals and operand stack at one place (JVMS §4.10.1.2).

use crate::bytes::{Reader, Write};
use crate::layout::Layout;
use crate::{ConstantPool, Constants, Error};

/// A verification type.
///
/// A `long` or `double` takes two slots; the second one is [`Type::Top`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type<'c> {
    Top,
    Int,
    Float,
    Long,
    Double,
    Null,
    UninitializedThis,
    /// The object created by the `new` at an index, before its constructor is called.
    Uninitialized(u16),
    Object(Class<'c>),
}

/// A class or array class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Class<'c> {
    pub dimensions: usize,
    pub element: Element<'c>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element<'c> {
    /// An internal name.
    Class(&'c [u8]),
    /// The letter of a primitive type.
    Primitive(u8),
}

impl<'c> Class<'c> {
    /// Parses the name in a `CONSTANT_Class` (§4.4.1).
    pub fn from_name(name: &'c [u8]) -> Result<Self, Error> {
        if name.first() == Some(&b'[') {
            Self::from_descriptor(name)
        } else {
            Ok(Self { dimensions: 0, element: Element::Class(name) })
        }
    }

    /// Parses a field descriptor of a class or array.
    pub fn from_descriptor(descriptor: &'c [u8]) -> Result<Self, Error> {
        let dimensions = descriptor.iter().take_while(|&&byte| byte == b'[').count();
        let element = match &descriptor[dimensions..] {
            [b'L', name @ .., b';'] => Element::Class(name),
            [letter] if dimensions > 0 => Element::Primitive(*letter),
            _ => return Err(Error::BadDescriptor),
        };
        Ok(Self { dimensions, element })
    }

    fn constant(&self, constants: &mut Constants) -> Result<u16, Error> {
        if self.dimensions == 0
            && let Element::Class(name) = self.element
        {
            return constants.class(name);
        }
        let mut name = vec![b'['; self.dimensions];
        match self.element {
            Element::Class(class) => {
                name.push(b'L');
                name.extend_from_slice(class);
                name.push(b';');
            }
            Element::Primitive(letter) => name.push(letter),
        }
        constants.class(&name)
    }
}

impl<'c> Type<'c> {
    /// Returns the type of a class that is named in the JVM's own specification.
    pub const fn class(name: &'c str) -> Self {
        Self::Object(Class { dimensions: 0, element: Element::Class(name.as_bytes()) })
    }

    pub fn slots(self) -> usize {
        if matches!(self, Self::Long | Self::Double) { 2 } else { 1 }
    }

    /// Reads a `verification_type_info` (§4.7.4).
    pub fn read(reader: &mut Reader<'c>, pool: &ConstantPool<'c>) -> Result<Self, Error> {
        Ok(match reader.u1()? {
            0 => Self::Top,
            1 => Self::Int,
            2 => Self::Float,
            3 => Self::Double,
            4 => Self::Long,
            5 => Self::Null,
            6 => Self::UninitializedThis,
            7 => Self::Object(Class::from_name(pool.class(reader.u2()?)?)?),
            8 => Self::Uninitialized(reader.u2()?),
            _ => return Err(Error::BadFrame),
        })
    }

    /// Writes a `verification_type_info`.
    pub fn write(
        self,
        layout: &Layout,
        constants: &mut Constants,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        match self {
            Self::Top => out.u1(0),
            Self::Int => out.u1(1),
            Self::Float => out.u1(2),
            Self::Double => out.u1(3),
            Self::Long => out.u1(4),
            Self::Null => out.u1(5),
            Self::UninitializedThis => out.u1(6),
            Self::Object(class) => {
                out.u1(7);
                out.u2(class.constant(constants)?);
            }
            Self::Uninitialized(new) => {
                out.u1(8);
                out.u2(layout.instruction(new)?);
            }
        }
        Ok(())
    }
}

/// The types of locals and operand stack, one per slot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frame<'c> {
    pub locals: Vec<Type<'c>>,
    pub stack: Vec<Type<'c>>,
}

impl<'c> Frame<'c> {
    /// Returns the frame at the start of a handler for all exceptions.
    pub fn caught(locals: Vec<Type<'c>>) -> Self {
        Self { locals, stack: vec![Type::class("java/lang/Throwable")] }
    }

    /// Copies another frame and reuses the allocated memory.
    pub fn copy_from(&mut self, other: &Self) {
        self.locals.clone_from(&other.locals);
        self.stack.clone_from(&other.stack);
    }
}

/// Adds a value to locals or stack.
pub(crate) fn push<'c>(slots: &mut Vec<Type<'c>>, value: Type<'c>) {
    slots.push(value);
    if value.slots() == 2 {
        slots.push(Type::Top);
    }
}

/// Returns the values in the slots: a `long` or `double` once, no unused locals at the
/// end.
pub(crate) fn values<'s, 'c>(
    slots: &'s [Type<'c>],
) -> impl Iterator<Item = Type<'c>> + Clone + use<'s, 'c> {
    let mut rest = trimmed(slots);
    std::iter::from_fn(move || {
        let (&first, _) = rest.split_first()?;
        rest = rest.get(first.slots()..).unwrap_or_default();
        Some(first)
    })
}

/// Returns the slots without the unused ones at the end.
pub(crate) fn trimmed<'s, 'c>(slots: &'s [Type<'c>]) -> &'s [Type<'c>] {
    match slots.iter().rposition(|&slot| slot != Type::Top) {
        Some(last) => slots.get(..last + slots[last].slots()).unwrap_or(slots),
        None => &[],
    }
}
