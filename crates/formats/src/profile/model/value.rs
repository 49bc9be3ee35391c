//! Values and their types, lines, and states of threads, which the events and dumps of JVMPI have too.

use super::ObjectId;
use crate::dump;
pub use crate::dump::{Line, ThreadState, Type};

/// A value of a field.
pub type Value = dump::Value<ObjectId>;

impl From<dump::Value> for Value {
    fn from(value: dump::Value) -> Self {
        value.with_reference(|id| ObjectId(id as u64))
    }
}
