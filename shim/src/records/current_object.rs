//! The object of the event in flight on a thread.

use jni_sys::jobject;
use jvmpi_sys::jobjectID;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The ID of that object and a reference, because agents request the object in the event. Only the
/// thread itself uses them.
#[derive(Default)]
pub struct CurrentObject {
    id: AtomicPtr<jvmpi_sys::_jobjectID>,
    object: AtomicPtr<jni_sys::_jobject>,
}

impl CurrentObject {
    /// Runs `event` with the object as its current object. The object lives until `event` returns.
    pub fn with<R>(&self, id: jobjectID, object: jobject, event: impl FnOnce() -> R) -> R {
        let (outer_id, outer_object) =
            (self.id.load(Ordering::Relaxed), self.object.load(Ordering::Relaxed));
        let _outer = Outer { current_object: self, id: outer_id, object: outer_object };
        self.set(id, object);
        event()
    }

    fn set(&self, id: jobjectID, object: jobject) {
        self.id.store(id, Ordering::Relaxed);
        self.object.store(object, Ordering::Relaxed);
    }

    /// Returns the object if the ID is that of the current object.
    pub fn object(&self, id: jobjectID) -> Option<jobject> {
        (self.id.load(Ordering::Relaxed) == id).then(|| self.object.load(Ordering::Relaxed))
    }
}

/// Restores the current object of the outer event when it is dropped.
struct Outer<'a> {
    current_object: &'a CurrentObject,
    id: jobjectID,
    object: jobject,
}

impl Drop for Outer<'_> {
    fn drop(&mut self) {
        self.current_object.set(self.id, self.object);
    }
}
