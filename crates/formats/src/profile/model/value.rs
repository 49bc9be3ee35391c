//! Values and their types, which JVMPI's dumps have too.

use super::ObjectId;
use crate::dump;
pub use crate::dump::Type;

/// A value of a field.
pub type Value = dump::Value<ObjectId>;

impl From<dump::Value> for Value {
    fn from(value: dump::Value) -> Self {
        value.with_reference(|id| ObjectId(id as u64))
    }
}
