//! The shim's own threads, and other objects that it hides from agents.

use super::quiet::quietly;
use crate::jvm::{self, Jni};
use crate::lock::Map;
use crate::sync::tagging;
use jni_sys::{jint, jobject};
use jvmpi_sys::jobjectID;
use std::ffi::CStr;
use std::sync::LazyLock;

static HIDDEN: LazyLock<Map<usize, ()>> = LazyLock::new(Map::new);

const NORMAL_PRIORITY: jint = 5;

/// Starts a hidden daemon thread.
pub fn start_hidden(
    jni: Jni,
    name: &CStr,
    run: impl FnOnce(Jni) + Send + 'static,
) -> jvm::Result<()> {
    quietly(jni, || jvm::start_thread(jni, name, NORMAL_PRIORITY, hide, run))
}

/// Hides the object; a thread whose `java.lang.Thread` it is, is hidden too.
pub fn hide(object: jobject) -> jvm::Result<()> {
    let id = tagging::id_of(object)?;
    HIDDEN.insert(id.addr(), ());
    Ok(())
}

/// The IDs of all hidden objects, threads among them.
pub fn hidden_objects() -> Vec<usize> {
    HIDDEN.keys()
}

pub fn is_hidden_object(id: jobjectID) -> bool {
    HIDDEN.contains(id.addr())
}
