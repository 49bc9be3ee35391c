//! The objects that the shim hides from agents, including those of its own threads.

use crate::sync::tagging;
use jni_sys::jobject;
use jvm::lock::Map;
use jvmpi_sys::jobjectID;
use std::sync::LazyLock;

static HIDDEN: LazyLock<Map<usize, ()>> = LazyLock::new(Map::new);

/// Hides the object. If it is a `java.lang.Thread`, the thread is hidden too.
pub fn hide(object: jobject) -> jvm::Result<()> {
    let id = tagging::id_of(object)?;
    HIDDEN.insert(id.addr(), ());
    Ok(())
}

/// Returns the IDs of all hidden objects, including threads.
pub fn hidden_objects() -> Vec<usize> {
    HIDDEN.keys()
}

pub fn is_hidden_object(id: jobjectID) -> bool {
    HIDDEN.contains(id.addr())
}
