//! Values and their types.

use crate::dump::{ID, Id};

/// Defines the types and their values: for each primitive type its code, its descriptor, its name in Java, the type of its
/// values, and how these are made of big-endian bytes and back.
macro_rules! types {
    ($(
        $name:ident = $code:literal, $descriptor:literal, $java:literal, $value:ty,
        $from:expr, $to:expr;
    )*) => {
        /// A type with its code in dumps: `JVMPI_CLASS`, and `JVMPI_BOOLEAN` to `JVMPI_LONG`.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[cfg_attr(feature = "profile", derive(serde::Serialize, serde::Deserialize))]
        #[repr(u8)]
        pub enum Type {
            /// A reference.
            Reference = 2,
            $(#[doc = concat!("`", $java, "`")] $name = $code,)*
        }

        /// A value of a field or of an array element. References are [`Id`]s in dumps.
        #[derive(Clone, Copy, PartialEq, Debug)]
        #[allow(missing_docs)]
        pub enum Value<Reference = Id> {
            Reference(Reference),
            $($name($value),)*
        }

        impl Type {
            /// All types.
            pub const ALL: [Self; 9] = [Self::Reference, $(Self::$name),*];

            /// Returns the descriptor of fields of this type, or its first character; its name in Java; and the name of
            /// its arrays.
            const fn names(self) -> (&'static str, &'static str, &'static str) {
                match self {
                    Self::Reference => ("L", "<Unknown>", "[L<Unknown>;"),
                    $(Self::$name => ($descriptor, $java, concat!("[", $descriptor)),)*
                }
            }

            /// Returns the size of a value in bytes, in a file with IDs of `id_size` bytes.
            pub const fn width_with(self, id_size: usize) -> usize {
                match self {
                    Self::Reference => id_size,
                    $(Self::$name => size_of::<$value>(),)*
                }
            }
        }

        impl<Reference> Value<Reference> {
            /// Returns the type of the value.
            pub fn of_type(&self) -> Type {
                match self {
                    Self::Reference(_) => Type::Reference,
                    $(Self::$name(_) => Type::$name,)*
                }
            }

            /// Returns the value with its reference, if it is one, converted by `convert`.
            pub fn with_reference<Other>(
                self,
                convert: impl FnOnce(Reference) -> Other,
            ) -> Value<Other> {
                match self {
                    Self::Reference(reference) => Value::Reference(convert(reference)),
                    $(Self::$name(value) => Value::$name(value),)*
                }
            }
        }

        impl Value {
            /// Writes the value to `to`, which has exactly the size of the type.
            #[inline]
            pub fn write(self, to: &mut [u8]) {
                match self {
                    Self::Reference(id) => to.copy_from_slice(&id.to_ne_bytes()),
                    $(Self::$name(value) => to.copy_from_slice(&$to(value)),)*
                }
            }

            /// Reads a value of the given type from the beginning of `bytes`. Returns the value and the rest, or `None` if
            /// there are too few bytes.
            pub fn read(of_type: Type, bytes: &[u8]) -> Option<(Self, &[u8])> {
                match of_type {
                    Type::Reference => first(bytes, |it| Self::Reference(Id::from_ne_bytes(it))),
                    $(Type::$name => first(bytes, |it| Self::$name($from(it))),)*
                }
            }
        }
    };
}

types! {
    Boolean = 4, "Z", "boolean", bool, |[it]: [u8; 1]| it != 0, |it: bool| [u8::from(it)];
    Char = 5, "C", "char", u16, u16::from_be_bytes, u16::to_be_bytes;
    Float = 6, "F", "float", f32, f32::from_be_bytes, f32::to_be_bytes;
    Double = 7, "D", "double", f64, f64::from_be_bytes, f64::to_be_bytes;
    Byte = 8, "B", "byte", i8, i8::from_be_bytes, i8::to_be_bytes;
    Short = 9, "S", "short", i16, i16::from_be_bytes, i16::to_be_bytes;
    Int = 10, "I", "int", i32, i32::from_be_bytes, i32::to_be_bytes;
    Long = 11, "J", "long", i64, i64::from_be_bytes, i64::to_be_bytes;
}

impl Type {
    /// Returns the type with this code.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|t| *t as u8 == code)
    }

    /// Returns the type of a field from the first character of its descriptor.
    pub fn of_descriptor(first: u8) -> Option<Self> {
        let first = if first == b'[' { b'L' } else { first };
        Self::ALL.into_iter().find(|of| of.descriptor() == first)
    }

    /// Returns the first character of the descriptor of fields of this type.
    pub const fn descriptor(self) -> u8 {
        self.names().0.as_bytes()[0]
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
}

impl Value {
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
