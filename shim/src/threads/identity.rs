//! The `java.lang.Thread` of a thread, and the objects that the shim hides from agents, among them those of its own
//! threads.

use crate::records::registry;
use crate::records::thread::Thread;
use crate::sync::tagging;
use jni_sys::jobject;
use jvm::lock::Map;
use jvm::{GlobalRef, Jni};
use jvmpi_sys::jobjectID;
use std::sync::atomic::Ordering;
use std::sync::{Arc, LazyLock};

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

/// Records the `java.lang.Thread` of a thread.
pub fn learn_object(thread: &Thread, jni: Jni, object: jobject) {
    let Some(reference) = GlobalRef::new(jni, object) else { return };
    let Ok(mut id) = tagging::id_of(object) else { return };
    let reference = Arc::new(reference);
    // A reference that is not needed is deleted outside the lock.
    let known = Arc::clone(thread.object.lock().get_or_insert_with(|| Arc::clone(&reference)));
    if !jni.same_object(known.get(), object) {
        // The environment belongs to another thread by now.
        return;
    }
    thread.hidden.store(is_hidden_object(id), Ordering::Release);
    thread.short_cut.forbid();
    // The ID of a recorded thread stays the same. A copying collection may have changed it before.
    loop {
        thread.id.store(id, Ordering::Release);
        registry::note_id(thread, id);
        let now = tagging::id_of(object).unwrap_or(id);
        if now == id {
            return;
        }
        registry::forget_id(id);
        id = now;
    }
}
