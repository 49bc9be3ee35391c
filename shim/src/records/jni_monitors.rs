//! The monitors that a thread has entered by JNI. The VM's count of a thread's entries to a monitor does
//! not include them, because it counts frames of methods.

use crate::jvm::{GlobalRef, Jni};
use crate::lock::Lock;
use jni_sys::jobject;
use std::mem;

/// The monitors of one thread, each as often as it was entered. Only the thread itself uses them.
#[derive(Default)]
pub struct JniMonitors(Lock<Vec<GlobalRef>>);

impl JniMonitors {
    /// Records that the thread has entered the object's monitor.
    pub fn entered(&self, jni: Jni, object: jobject) {
        if let Some(object) = GlobalRef::new(jni, object) {
            self.0.lock().push(object);
        }
    }

    /// Records that the thread has exited the object's monitor. The entry may not have been recorded.
    pub fn left(&self, jni: Jni, object: jobject) {
        // The lock is released before the VM is called.
        let mut entered = mem::take(&mut *self.0.lock());
        if let Some(last) = entered.iter().rposition(|one| jni.same_object(one.get(), object)) {
            entered.remove(last);
        }
        *self.0.lock() = entered;
    }

    /// Returns the number of times that the thread has entered the object's monitor.
    pub fn count(&self, jni: Jni, object: jobject) -> usize {
        let entered = mem::take(&mut *self.0.lock());
        let count = entered.iter().filter(|one| jni.same_object(one.get(), object)).count();
        *self.0.lock() = entered;
        count
    }

    /// Returns true if the thread is in no monitor that it has entered by JNI.
    pub fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }
}
