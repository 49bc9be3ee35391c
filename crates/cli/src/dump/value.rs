//! The values of fields and array elements as text.

use jvmpi_formats::profile::{ObjectId, Value};

/// Returns a value as text.
pub fn text(value: Value) -> String {
    match value {
        Value::Reference(ObjectId(0)) => "null".into(),
        Value::Reference(id) => format!("{:#x}", id.0),
        Value::Boolean(value) => value.to_string(),
        Value::Char(value) => char::from_u32(value.into())
            .filter(|c| !c.is_control())
            .map_or_else(|| format!("\\u{value:04x}"), |c| format!("'{c}'")),
        Value::Float(value) => value.to_string(),
        Value::Double(value) => value.to_string(),
        Value::Byte(value) => value.to_string(),
        Value::Short(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Long(value) => value.to_string(),
    }
}
