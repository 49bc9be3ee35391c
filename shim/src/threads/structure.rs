//! The VM's own structures of threads.

use crate::jvm::thread_state::{self, ThreadState};
use crate::jvm::{self, FieldId, Jni, internals};
use crate::lock::Memo;
use crate::records::registry;
use crate::records::thread::Thread;
use jni_sys::jobject;

/// How the VM's own thread structures are found from `java.lang.Thread` objects: the private
/// field `eetop` holds the structure's address, and the JNIEnv lies at a fixed distance from it.
/// JVMTI has no way from a thread object to its JNIEnv.
struct NativeThreads {
    field: FieldId,
    env_distance: usize,
}

static NATIVE_THREADS: Memo<Option<NativeThreads>> = Memo::new();

fn native_threads() -> Option<&'static NativeThreads> {
    NATIVE_THREADS.get()?.as_ref()
}

/// Finds out where environments are, from the current platform thread.
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

/// The address of the VM's structure; 0 for a virtual thread and one that is not alive, and
/// `usize::MAX` where the field cannot be read.
pub fn of(jni: Jni, thread: jobject) -> usize {
    native_threads().map_or(usize::MAX, |n| jni.long_field(thread, n.field) as usize)
}

/// Whether the VM's structures can be found.
pub fn is_known() -> bool {
    native_threads().is_some()
}

/// The distance from the structure to the environment.
pub fn env_distance() -> Option<usize> {
    native_threads().map(|known| known.env_distance)
}

/// Looks for the state in the structures of threads, in that of the current thread, which executes native code.
pub fn locate_states(jni: Jni) {
    if let Some(distance) = env_distance() {
        // SAFETY: the structure lies there, as was measured.
        unsafe { thread_state::locate(jni.env().addr().wrapping_sub(distance)) };
    }
}

impl Thread {
    /// The state of the thread in the VM, or of its carrier if it is virtual. None if only JVMTI can tell.
    pub fn vm_state(&self) -> Option<ThreadState> {
        if self.is_virtual() {
            return registry::by_env(self.vm_env())?.vm_state();
        }
        let distance = env_distance()?;
        // The VM frees the structure only after `ended`, which takes the object away.
        let object = self.object.lock();
        object.as_ref()?;
        // SAFETY: the structure lies there, and lives as long as the lock is held.
        unsafe { thread_state::of(self.env().addr().wrapping_sub(distance)) }
    }
}
