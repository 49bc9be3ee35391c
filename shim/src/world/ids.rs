//! Objects' IDs: JVMTI tags that never change and are never given twice.
//!
//! An ID is a multiple of 16 starting at 16, because agents hash IDs by shifting them, and stays
//! below 2^32 as long as such IDs last, because some agents keep them in 32 bits.

use crate::jvm::{self, Jni, Result};
use jni_sys::jobject;
use jvmpi_sys::jobjectID;
use std::ptr;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard};

const STEP: i64 = 16;

/// Held while an object is looked at and tagged, so that two threads cannot tag it twice.
///
/// Unlike every other lock of the shim it is held over JVM calls, in which a thread can be
/// suspended; whoever suspends threads therefore holds it meanwhile ([`hold_tagging`]).
static TAGGING: Mutex<()> = Mutex::new(());

static LAST: AtomicI64 = AtomicI64::new(0);

/// An ID that was never given before.
fn fresh() -> i64 {
    LAST.fetch_add(STEP, Ordering::Relaxed) + STEP
}

/// Keeps other threads from being in the middle of tagging, where they must not be suspended.
pub fn hold_tagging() -> MutexGuard<'static, ()> {
    TAGGING.lock().unwrap_or_else(|e| e.into_inner())
}

/// The object's ID, which it is given now if it has none; NULL for NULL.
pub fn of(object: jobject) -> Result<jobjectID> {
    if object.is_null() {
        return Ok(ptr::null_mut());
    }
    let jvmti = jvm::get().jvmti;
    let mut tag = jvmti.tag(object)?;
    if tag == 0 {
        let _tagging = hold_tagging();
        tag = jvmti.tag(object)?;
        if tag == 0 {
            tag = fresh();
            jvmti.set_tag(object, tag)?;
        }
    }
    Ok(from_tag(tag))
}

/// The ID that a tag stands for.
pub fn from_tag(tag: i64) -> jobjectID {
    ptr::without_provenance_mut(tag as usize)
}

/// The tag that an ID stands for; 0 for NULL and for what was never an ID.
pub fn to_tag(id: jobjectID) -> i64 {
    let tag = id.addr() as i64;
    if tag > 0 && tag % STEP == 0 && tag <= LAST.load(Ordering::Relaxed) { tag } else { 0 }
}

/// The object with this ID, in the current frame; None if there is none such or it is gone.
pub fn object(jni: Jni, id: jobjectID) -> Option<jobject> {
    let tag = to_tag(id);
    if tag == 0 {
        return None;
    }
    if let Some(class) = super::classes::by_id(id) {
        return class.object(jni);
    }
    if let Some(thread) = super::threads::by_id(id) {
        return thread.object().map(|object| jni.new_local(object.get()));
    }
    jvm::get().jvmti.tagged(tag)
}
