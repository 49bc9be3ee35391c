//! Values and their types.

use crate::dump::{ID, Id};

/// A type with its code in dumps: `JVMPI_CLASS`, and `JVMPI_BOOLEAN` to `JVMPI_LONG`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "profile", derive(serde::Serialize, serde::Deserialize))]
#[repr(u8)]
pub enum Type {
    /// A reference.
    Reference = 2,
    /// `boolean`
    Boolean = 4,
    /// `char`
    Char = 5,
    /// `float`
    Float = 6,
    /// `double`
    Double = 7,
    /// `byte`
    Byte = 8,
    /// `short`
    Short = 9,
    /// `int`
    Int = 10,
    /// `long`
    Long = 11,
}

impl Type {
    /// All types.
    pub const ALL: [Self; 9] = [
        Self::Reference,
        Self::Boolean,
        Self::Char,
        Self::Float,
        Self::Double,
        Self::Byte,
        Self::Short,
        Self::Int,
        Self::Long,
    ];

    /// Returns the type with this code.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|t| *t as u8 == code)
    }

    /// Returns the first character of the descriptor of fields of this type, its name in Java, and the name of its arrays.
    const fn names(self) -> (u8, &'static str, &'static str) {
        match self {
            Self::Reference => (b'L', "<Unknown>", "[L<Unknown>;"),
            Self::Boolean => (b'Z', "boolean", "[Z"),
            Self::Char => (b'C', "char", "[C"),
            Self::Float => (b'F', "float", "[F"),
            Self::Double => (b'D', "double", "[D"),
            Self::Byte => (b'B', "byte", "[B"),
            Self::Short => (b'S', "short", "[S"),
            Self::Int => (b'I', "int", "[I"),
            Self::Long => (b'J', "long", "[J"),
        }
    }

    /// Returns the type of a field from the first character of its descriptor.
    pub fn of_descriptor(first: u8) -> Option<Self> {
        let first = if first == b'[' { b'L' } else { first };
        Self::ALL.into_iter().find(|of| of.descriptor() == first)
    }

    /// Returns the first character of the descriptor of fields of this type.
    pub const fn descriptor(self) -> u8 {
        self.names().0
    }

    /// Returns the name in Java. For references, which would need their class, it is `<Unknown>`.
    pub const fn name(self) -> &'static str {
        self.names().1
    }

    /// Returns the name of an array with elements of this type and of unknown class.
    pub const fn array_name(self) -> &'static str {
        self.names().2
    }

    /// Returns the size of a value in a dump, in bytes.
    pub const fn width(self) -> usize {
        self.width_with(ID)
    }

    /// Returns the size of a value in bytes, in a file with IDs of `id_size` bytes.
    pub const fn width_with(self, id_size: usize) -> usize {
        match self {
            Self::Reference => id_size,
            Self::Boolean | Self::Byte => 1,
            Self::Char | Self::Short => 2,
            Self::Float | Self::Int => 4,
            Self::Double | Self::Long => 8,
        }
    }
}

/// A value of a field or of an array element. References are [`Id`]s in dumps.
#[derive(Clone, Copy, PartialEq, Debug)]
#[allow(missing_docs)]
pub enum Value<Reference = Id> {
    Reference(Reference),
    Boolean(bool),
    Char(u16),
    Float(f32),
    Double(f64),
    Byte(i8),
    Short(i16),
    Int(i32),
    Long(i64),
}

impl<Reference> Value<Reference> {
    /// Returns the type of the value.
    pub fn of_type(&self) -> Type {
        match self {
            Self::Reference(_) => Type::Reference,
            Self::Boolean(_) => Type::Boolean,
            Self::Char(_) => Type::Char,
            Self::Float(_) => Type::Float,
            Self::Double(_) => Type::Double,
            Self::Byte(_) => Type::Byte,
            Self::Short(_) => Type::Short,
            Self::Int(_) => Type::Int,
            Self::Long(_) => Type::Long,
        }
    }

    /// Returns the value with its reference, if it is one, converted by `convert`.
    pub fn with_reference<Other>(self, convert: impl FnOnce(Reference) -> Other) -> Value<Other> {
        match self {
            Self::Reference(reference) => Value::Reference(convert(reference)),
            Self::Boolean(value) => Value::Boolean(value),
            Self::Char(value) => Value::Char(value),
            Self::Float(value) => Value::Float(value),
            Self::Double(value) => Value::Double(value),
            Self::Byte(value) => Value::Byte(value),
            Self::Short(value) => Value::Short(value),
            Self::Int(value) => Value::Int(value),
            Self::Long(value) => Value::Long(value),
        }
    }
}

impl Value {
    /// Writes the value to `to`, which has exactly the size of the type.
    #[inline]
    pub fn write(self, to: &mut [u8]) {
        match self {
            Self::Reference(id) => to.copy_from_slice(&id.to_ne_bytes()),
            Self::Boolean(value) => to.copy_from_slice(&[value.into()]),
            Self::Char(value) => to.copy_from_slice(&value.to_be_bytes()),
            Self::Float(value) => to.copy_from_slice(&value.to_be_bytes()),
            Self::Double(value) => to.copy_from_slice(&value.to_be_bytes()),
            Self::Byte(value) => to.copy_from_slice(&value.to_be_bytes()),
            Self::Short(value) => to.copy_from_slice(&value.to_be_bytes()),
            Self::Int(value) => to.copy_from_slice(&value.to_be_bytes()),
            Self::Long(value) => to.copy_from_slice(&value.to_be_bytes()),
        }
    }

    /// Reads a value of the given type from the beginning of `bytes`. Returns the value and the rest, or `None` if
    /// there are too few bytes.
    pub fn read(of_type: Type, bytes: &[u8]) -> Option<(Self, &[u8])> {
        match of_type {
            Type::Reference => first(bytes, |it| Self::Reference(Id::from_ne_bytes(it))),
            Type::Boolean => first(bytes, |[it]| Self::Boolean(it != 0)),
            Type::Char => first(bytes, |it| Self::Char(u16::from_be_bytes(it))),
            Type::Float => first(bytes, |it| Self::Float(f32::from_be_bytes(it))),
            Type::Double => first(bytes, |it| Self::Double(f64::from_be_bytes(it))),
            Type::Byte => first(bytes, |it| Self::Byte(i8::from_be_bytes(it))),
            Type::Short => first(bytes, |it| Self::Short(i16::from_be_bytes(it))),
            Type::Int => first(bytes, |it| Self::Int(i32::from_be_bytes(it))),
            Type::Long => first(bytes, |it| Self::Long(i64::from_be_bytes(it))),
        }
    }

    /// Reads values of the given types one after the other. Returns `None` unless they take up all bytes exactly.
    pub fn read_all(types: impl IntoIterator<Item = Type>, bytes: &[u8]) -> Option<Vec<Self>> {
        let mut rest = bytes;
        let mut values = Vec::new();
        for of_type in types {
            let (value, after) = Self::read(of_type, rest)?;
            values.push(value);
            rest = after;
        }
        rest.is_empty().then_some(values)
    }
}

/// Returns the value of the first bytes, and the rest. None if there are too few.
fn first<const N: usize>(
    bytes: &[u8],
    value: impl FnOnce([u8; N]) -> Value,
) -> Option<(Value, &[u8])> {
    let (first, rest) = bytes.split_first_chunk()?;
    Some((value(*first), rest))
}
