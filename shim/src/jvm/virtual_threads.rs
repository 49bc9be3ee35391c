//! `java.lang.VirtualThread`: on which carrier one is mounted.

use super::global_ref::GlobalRef;
use super::jni::{FieldId, Jni};
use crate::lock::Memo;
use jni_sys::{jclass, jobject};
use jvmti_sys::jthread;

/// How virtual threads are known and read.
pub struct VirtualThreads {
    class: GlobalRef,
    carrier: FieldId,
}

/// None on a JDK that has none.
pub fn get(jni: Jni) -> Option<&'static VirtualThreads> {
    static THREADS: Memo<Option<VirtualThreads>> = Memo::new();
    let find = |jni: Jni| {
        let class = jni.find_class(c"java/lang/VirtualThread")?;
        let carrier = jni.field(class, c"carrierThread", c"Ljava/lang/Thread;")?;
        Some(VirtualThreads { class: GlobalRef::new(jni, class)?, carrier })
    };
    THREADS.get_or_find(|| jni.frame(4, find)).as_ref()
}

impl VirtualThreads {
    /// The class itself.
    pub fn class(&self) -> jclass {
        self.class.get()
    }

    /// The carrier on which this thread is mounted, in the current frame; None if it is not virtual
    /// or not mounted.
    pub fn carrier(&self, jni: Jni, thread: jthread) -> Option<jobject> {
        if !jni.instance_of(thread, self.class.get()) {
            return None;
        }
        let carrier = jni.object_field(thread, self.carrier);
        (!carrier.is_null()).then_some(carrier)
    }
}
