//! The monitors that a thread has entered by JNI. The VM does not count them where it counts how often a
//! thread has entered a monitor: it looks at the frames of methods.

use crate::jvm::{GlobalRef, Jni};
use crate::lock::Lock;
use jni_sys::jobject;
use std::mem;

/// Those of one thread, one for each time. Only the thread itself uses this.
#[derive(Default)]
pub struct JniMonitors(Lock<Vec<GlobalRef>>);

impl JniMonitors {
    /// The thread has entered the object's monitor.
    pub fn entered(&self, jni: Jni, object: jobject) {
        if let Some(object) = GlobalRef::new(jni, object) {
            self.0.lock().push(object);
        }
    }

    /// The thread has left the object's monitor, which it may have entered unseen.
    pub fn left(&self, jni: Jni, object: jobject) {
        // The VM is not called while the lock is held.
        let mut entered = mem::take(&mut *self.0.lock());
        if let Some(last) = entered.iter().rposition(|one| jni.same_object(one.get(), object)) {
            entered.remove(last);
        }
        *self.0.lock() = entered;
    }

    /// How often the thread has entered the object's monitor.
    pub fn count(&self, jni: Jni, object: jobject) -> usize {
        let entered = mem::take(&mut *self.0.lock());
        let count = entered.iter().filter(|one| jni.same_object(one.get(), object)).count();
        *self.0.lock() = entered;
        count
    }

    /// Whether the thread is in no monitor that it has entered by JNI.
    pub fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }
}
