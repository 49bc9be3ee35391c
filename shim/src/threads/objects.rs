//! The `java.lang.Thread` of a thread, and the VM's own structure to which it leads.

use crate::records::registry;
use crate::records::thread::Thread;
use crate::sync::tagging;
use jni_sys::jobject;
use jvm::lock::Memo;
use jvm::thread_state::{self, ThreadState};
use jvm::{FieldId, GlobalRef, Jni, internals};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Hides the object from agents. If it is a `java.lang.Thread`, the thread is hidden too.
pub fn hide(object: jobject) -> jvm::Result<()> {
    registry::hide(tagging::id_of(object)?);
    Ok(())
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
    thread.hidden.store(registry::is_hidden_object(id), Ordering::Release);
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

/// The way from a `java.lang.Thread` object to the VM's thread structure: the private field `eetop` contains
/// the structure's address, and the JNIEnv is at a fixed distance from it. JVMTI has no way from a thread
/// object to its JNIEnv.
struct NativeThreads {
    field: FieldId,
    env_distance: usize,
}

static NATIVE_THREADS: Memo<Option<NativeThreads>> = Memo::new();

fn native_threads() -> Option<&'static NativeThreads> {
    NATIVE_THREADS.get()?.as_ref()
}

/// Measures the distance of environments, on the current platform thread.
pub fn locate_environments(jni: Jni) {
    let find = |jni: Jni| {
        let field = jni.field(jni.find_class(c"java/lang/Thread")?, c"eetop", c"J")?;
        let native = jni.long_field(jvm::get().jvmti.current_thread().ok()?, field);
        (native != 0).then(|| NativeThreads {
            field,
            env_distance: jni.env().addr().wrapping_sub(native as usize),
        })
    };
    NATIVE_THREADS.get_or_find(|| internals::EETOP.find(|| jni.frame(8, find)));
}

/// Returns the address of the VM's structure. 0 for a virtual thread or one that is not alive, `usize::MAX` if
/// the field cannot be read.
pub fn structure_of(jni: Jni, thread: jobject) -> usize {
    native_threads().map_or(usize::MAX, |n| jni.long_field(thread, n.field) as usize)
}

pub fn structures_are_known() -> bool {
    native_threads().is_some()
}

/// Returns the distance from the structure to the environment.
pub fn env_distance() -> Option<usize> {
    native_threads().map(|known| known.env_distance)
}

/// Searches for the thread state in the structure of the current thread, which executes native code.
pub fn locate_states(jni: Jni) {
    if let Some(distance) = env_distance() {
        // SAFETY: the structure is at this measured distance.
        unsafe { thread_state::locate(jni.env().addr().wrapping_sub(distance)) };
    }
}

/// Returns the kernel's ID of a live platform thread, also if the thread has not run code of the shim. None if only
/// the thread itself knows.
pub fn os_thread_of(thread: &Thread) -> Option<i32> {
    // SAFETY: the structure lives during the call.
    thread.with_structure(|structure| unsafe { thread_state::os_thread(structure) })
}

impl Thread {
    /// Calls `f` with the address of the VM's structure of a platform thread, which lives meanwhile.
    fn with_structure<R>(&self, f: impl FnOnce(usize) -> Option<R>) -> Option<R> {
        let distance = env_distance()?;
        // The VM frees the structure only after `ended`, which removes the object from the record.
        let object = self.object.lock();
        object.as_ref()?;
        f(self.env().addr().wrapping_sub(distance))
    }

    /// Returns the state of the thread in the VM, or of its carrier if it is virtual. None if only JVMTI knows.
    pub fn vm_state(&self) -> Option<ThreadState> {
        if self.is_virtual() {
            return registry::by_env(self.vm_env())?.vm_state();
        }
        // SAFETY: the structure lives during the call.
        self.with_structure(|structure| unsafe { thread_state::of(structure) })
    }
}
