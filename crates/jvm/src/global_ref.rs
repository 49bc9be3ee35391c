//! JNI references that outlive a local frame.

use super::jni::Jni;
use super::vm;
use jni_sys::jobject;

/// A JNI global reference, deleted when dropped.
pub struct GlobalRef(jobject);

// SAFETY: a global reference may be used by every thread.
unsafe impl Send for GlobalRef {}
// SAFETY: as above.
unsafe impl Sync for GlobalRef {}

impl GlobalRef {
    /// Creates a reference, which keeps the object alive. Returns `None` for NULL.
    pub fn new(jni: Jni, object: jobject) -> Option<Self> {
        let reference = jni.new_global(object);
        (!reference.is_null()).then_some(Self(reference))
    }

    /// Returns the reference, which is valid while `self` lives.
    pub fn get(&self) -> jobject {
        self.0
    }
}

impl Drop for GlobalRef {
    fn drop(&mut self) {
        // A thread that is not attached cannot delete the reference, which then leaks.
        if let Some(jni) = vm::get().jni() {
            jni.delete_global(self.0);
        }
    }
}

/// A JNI weak global reference, deleted when dropped.
pub struct WeakRef(jobject);

// SAFETY: a weak global reference may be used by every thread.
unsafe impl Send for WeakRef {}
// SAFETY: as above.
unsafe impl Sync for WeakRef {}

impl WeakRef {
    pub fn new(jni: Jni, object: jobject) -> Self {
        Self(jni.new_weak(object))
    }

    /// Returns the weak reference itself, for callers that know that the object stays alive while they use it.
    pub fn get_alive(&self) -> jobject {
        self.0
    }

    /// Returns a local reference to the object, or `None` if it was collected.
    pub fn get(&self, jni: Jni) -> Option<jobject> {
        let object = jni.new_local(self.0);
        (!object.is_null()).then_some(object)
    }
}

impl Drop for WeakRef {
    fn drop(&mut self) {
        if let Some(jni) = vm::get().jni() {
            jni.delete_weak(self.0);
        }
    }
}
