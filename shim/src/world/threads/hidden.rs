//! The shim's own threads, and other objects that it keeps for itself.

use super::quiet::quietly;
use crate::jvm::{self, Jni};
use crate::lock::Map;
use crate::world::tagging;
use jni_sys::{jint, jobject};
use jvmpi_sys::jobjectID;
use std::ffi::CStr;
use std::sync::LazyLock;

/// Starts a daemon thread of the shim's own, of which agents never hear.
pub fn start_hidden(
    jni: Jni,
    name: &CStr,
    run: impl FnOnce(Jni) + Send + 'static,
) -> jvm::Result<()> {
    quietly(jni, || jvm::start_thread(jni, name, NORMAL_PRIORITY, hide, run))
}

/// Makes the object one of the shim's own, and so the thread that will run it.
pub fn hide(object: jobject) -> jvm::Result<()> {
    let id = tagging::id_of(object)?;
    HIDDEN.insert(id.addr(), ());
    Ok(())
}

/// The IDs of the shim's own threads, and of other objects that it keeps.
pub(super) static HIDDEN: LazyLock<Map<usize, ()>> = LazyLock::new(Map::new);

const NORMAL_PRIORITY: jint = 5;

/// The IDs of the objects that the shim keeps for itself, its own threads among them.
pub fn hidden_objects() -> Vec<usize> {
    HIDDEN.keys()
}

/// Whether the object is one that the shim keeps for itself.
pub fn is_hidden_object(id: jobjectID) -> bool {
    HIDDEN.contains(id.addr())
}
