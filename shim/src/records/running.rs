//! The current thread, if it has a record already.

use super::registry;
use super::thread::Thread;
use crate::jvm;
use crate::platform::thread_local_word;
use jni_sys::JNIEnv;
use std::cell::RefCell;
use std::ops::Deref;
use std::ptr;
use std::sync::Arc;

thread_local! {
    /// Keeps the record of the current thread, to which [`thread_local_word`] points.
    static OWNER: Owner = const { Owner(RefCell::new(None)) };
}

struct Owner(RefCell<Option<Arc<Thread>>>);

impl Owner {
    fn set(&self, thread: Option<Arc<Thread>>) {
        thread_local_word::set(thread.as_ref().map_or(ptr::null(), Arc::as_ptr));
        self.0.replace(thread);
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        thread_local_word::set(ptr::null::<Thread>());
    }
}

/// The record of the current thread; this cannot leave that thread.
pub struct Current(*const Thread);

impl Current {
    /// The record must be that of the current thread, which must [`own`] it.
    pub fn of(thread: &Arc<Thread>) -> Self {
        Self(Arc::as_ptr(thread))
    }
}

impl Deref for Current {
    type Target = Thread;

    #[inline]
    fn deref(&self) -> &Thread {
        // SAFETY: `OWNER` of this thread, or the registry in its place, keeps the record until it is replaced. That
        // happens when the thread has ended for the VM and is attached anew, and when a virtual thread is mounted or
        // unmounted, whose record the registry keeps until it has ended, and the carrier's so as well.
        unsafe { &*self.0 }
    }
}

/// The environment of the current thread, NULL if it has no record yet.
pub fn known_current_env() -> *mut JNIEnv {
    known_current().map_or(ptr::null_mut(), |thread| thread.env())
}

/// Whether this is the current thread's environment: as agents know it, or as native code gets it from the
/// VM. False if the thread has no record yet.
pub fn is_current(env: *mut JNIEnv) -> bool {
    known_current().is_some_and(|thread| thread.env() == env || thread.runs_in(env))
        && !env.is_null()
}

/// The record of the current thread, if it has run code of the shim's before. May be called in a signal
/// handler: the shim signals only threads that have used this storage before, so no call allocates it.
#[inline]
pub fn known_current() -> Option<Current> {
    let thread = thread_local_word::get::<Thread>();
    (!thread.is_null()).then_some(Current(thread))
}

/// Makes this the record of the current thread. The thread-local storage of a thread that detaches in a destructor of
/// a `pthread_key` is gone: then the registry keeps the record.
pub fn own(thread: Option<Arc<Thread>>) {
    let mut thread = Some(thread);
    if OWNER.try_with(|owner| owner.set(thread.take().flatten())).is_err()
        && let Some(late) = thread.flatten()
    {
        registry::keep(late);
    }
}

/// The record of the current thread, also one that another thread has made for it.
pub fn recorded() -> Option<Arc<Thread>> {
    let known = known_current_env();
    let env = if known.is_null() { jvm::try_get()?.jni()?.env() } else { known };
    registry::by_env(env)
}
