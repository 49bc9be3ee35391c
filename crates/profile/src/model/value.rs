//! Values and their types.

use super::ObjectId;

/// A type as JVMPI and binary files name it: the codes `JVMPI_CLASS` and `JVMPI_BOOLEAN` to `JVMPI_LONG`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Type {
    Reference = 2,
    Boolean = 4,
    Char = 5,
    Float = 6,
    Double = 7,
    Byte = 8,
    Short = 9,
    Int = 10,
    Long = 11,
}

impl Type {
    /// Every type.
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

    /// The type with this code.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|t| *t as u8 == code)
    }

    /// How many bytes a value has in a file whose IDs have `id_size`.
    pub const fn width(self, id_size: usize) -> usize {
        match self {
            Self::Reference => id_size,
            Self::Boolean | Self::Byte => 1,
            Self::Char | Self::Short => 2,
            Self::Float | Self::Int => 4,
            Self::Double | Self::Long => 8,
        }
    }

    /// Its name in Java; text calls references by their class.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reference => "<Unknown>",
            Self::Boolean => "boolean",
            Self::Char => "char",
            Self::Float => "float",
            Self::Double => "double",
            Self::Byte => "byte",
            Self::Short => "short",
            Self::Int => "int",
            Self::Long => "long",
        }
    }

    /// The name of an array of these whose class is not known.
    pub const fn array_name(self) -> &'static str {
        match self {
            Self::Reference => "[L<Unknown>;",
            Self::Boolean => "[Z",
            Self::Char => "[C",
            Self::Float => "[F",
            Self::Double => "[D",
            Self::Byte => "[B",
            Self::Short => "[S",
            Self::Int => "[I",
            Self::Long => "[J",
        }
    }
}

/// A value of a field.
#[derive(Clone, Copy, PartialEq, Debug)]
#[allow(missing_docs)]
pub enum Value {
    Reference(ObjectId),
    Boolean(bool),
    Char(u16),
    Float(f32),
    Double(f64),
    Byte(i8),
    Short(i16),
    Int(i32),
    Long(i64),
}

impl Value {
    /// Its type.
    pub fn of_type(self) -> Type {
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
}
