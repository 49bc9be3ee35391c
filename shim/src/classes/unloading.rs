//! Drops the records of unloaded classes.

use super::{method_classes, methods};
use crate::records::class::Class;
use crate::records::native_methods;
use jvmpi_sys::jobjectID;
use std::sync::Arc;

/// Drops the records of an unloaded class and its methods, if the ID is that of a class.
pub fn forget(id: jobjectID) -> Option<Arc<Class>> {
    let class = super::remove(id)?;
    let methods = class.take_methods();
    method_classes::forget(id, &methods);
    for method in methods {
        methods::forget(method);
        native_methods::forget(method);
    }
    Some(class)
}
