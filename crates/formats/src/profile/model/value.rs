//! Values and their types.

use super::ObjectId;
/// JVMPI's dumps and binary files have the same types, with the same codes.
pub use crate::dump::Type;

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

impl From<crate::dump::Value> for Value {
    fn from(value: crate::dump::Value) -> Self {
        match value {
            crate::dump::Value::Reference(id) => Self::Reference(ObjectId(id as u64)),
            crate::dump::Value::Boolean(value) => Self::Boolean(value),
            crate::dump::Value::Char(value) => Self::Char(value),
            crate::dump::Value::Float(value) => Self::Float(value),
            crate::dump::Value::Double(value) => Self::Double(value),
            crate::dump::Value::Byte(value) => Self::Byte(value),
            crate::dump::Value::Short(value) => Self::Short(value),
            crate::dump::Value::Int(value) => Self::Int(value),
            crate::dump::Value::Long(value) => Self::Long(value),
        }
    }
}
