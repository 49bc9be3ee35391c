//! `jdk.internal.vm.ThreadSnapshot`, which JDK 25 and later use for thread dumps.
//!
//! A snapshot lists the monitors that a thread's frames have locked, up to JDK 27 including the one in which the thread
//! waits in `Object.wait`. A field of its own names that monitor too. JVMTI does not count it as owned, and since JDK 23
//! not as contended either.

use super::global_ref::GlobalRef;
use super::internals;
use super::jni::{FieldId, Jni, MethodId};
use crate::lock::Memo;
use jni_sys::{jint, jobject, jvalue};
use jvmpi_jvmti_sys::jthread;
use std::ffi::CStr;

/// The class, method and fields for making and reading snapshots.
pub struct ThreadSnapshots {
    class: GlobalRef,
    create: MethodId,
    locks: FieldId,
    /// The field with the object of a lock.
    object: FieldId,
    /// The fields with the object that keeps the thread from running, and the reason.
    blocker: FieldId,
    blocker_type: FieldId,
}

/// The reason of a thread in `Object.wait`: the ordinal of `BlockerLockType.WAITING_ON`.
const WAITING_ON: jint = 2;

/// Returns `None` on a JDK without this class.
pub fn get(jni: Jni) -> Option<&'static ThreadSnapshots> {
    static SNAPSHOTS: Memo<Option<ThreadSnapshots>> = Memo::new();
    let find = || jni.frame(8, ThreadSnapshots::new);
    SNAPSHOTS.get_or_find(|| internals::THREAD_SNAPSHOT.find(find)).as_ref()
}

impl ThreadSnapshots {
    fn new(jni: Jni) -> Option<Self> {
        const LOCK: &CStr = c"jdk/internal/vm/ThreadSnapshot$ThreadLock";
        const LOCKS: &CStr = c"[Ljdk/internal/vm/ThreadSnapshot$ThreadLock;";
        const CREATE: &CStr = c"(Ljava/lang/Thread;)Ljdk/internal/vm/ThreadSnapshot;";
        let class = jni.find_class(c"jdk/internal/vm/ThreadSnapshot")?;
        let lock = jni.find_class(LOCK)?;
        Some(Self {
            class: GlobalRef::new(jni, class)?,
            create: jni.static_method(class, c"create", CREATE)?,
            locks: jni.field(class, c"locks", LOCKS)?,
            object: jni.field(lock, c"obj", c"Ljava/lang/Object;")?,
            blocker: jni.field(class, c"blockerObject", c"Ljava/lang/Object;")?,
            blocker_type: jni.field(class, c"blockerTypeOrdinal", c"I")?,
        })
    }

    /// Returns the objects that the thread has locked or waits in, as local references; the latter perhaps twice. No Java
    /// code runs, and the thread may be suspended.
    pub fn locked(&self, jni: Jni, thread: jthread) -> Option<Vec<jobject>> {
        let arguments = [jvalue { l: thread }];
        let snapshot = jni.call_static_object(self.class.get(), self.create, &arguments)?;
        let locks = jni.object_field(snapshot, self.locks);
        let length = if locks.is_null() { 0 } else { jni.array_length(locks) };
        let objects = (0..length).filter_map(|i| {
            let lock = jni.array_element(locks, i);
            let object = jni.object_field(lock, self.object);
            jni.delete_local(lock);
            (!object.is_null()).then_some(object)
        });
        let mut objects: Vec<_> = objects.collect();
        let blocker = jni.object_field(snapshot, self.blocker);
        // Compiled code may not have kept the object.
        if jni.int_field(snapshot, self.blocker_type) == WAITING_ON && !blocker.is_null() {
            objects.push(blocker);
        }
        jni.delete_local(locks);
        jni.delete_local(snapshot);
        Some(objects)
    }
}
