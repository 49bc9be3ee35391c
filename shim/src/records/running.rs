//! The current thread, if it already has a record.

use super::registry;
use super::thread::Thread;
use crate::jvm;
use crate::platform::sync::thread_local;
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

/// The record of the current thread. It cannot be sent to another thread.
pub struct Current(*const Thread);

impl Current {
    /// Wraps the record, which must be that of the current thread and [`own`]ed by it.
    pub fn of(thread: &Arc<Thread>) -> Self {
        Self(Arc::as_ptr(thread))
    }
}

impl Deref for Current {
    type Target = Thread;

    #[inline]
    fn deref(&self) -> &Thread {
        // SAFETY: `OWNER` of this thread, or the registry in its place, keeps the record until it is replaced. That
        // happens when an ended thread is attached again. It also happens when a virtual thread is mounted or
        // unmounted; then the registry keeps its record, until it has ended, and the carrier's.
        unsafe { &*self.0 }
    }
}

/// Returns the environment of the current thread, NULL if it has no record yet.
pub fn known_current_env() -> *mut JNIEnv {
    known_current().map_or(ptr::null_mut(), |thread| thread.env())
}

/// Returns true for the current thread's environment: the one that agents know, or the one that native code gets from
/// the VM. False if the thread has no record yet.
pub fn is_current(env: *mut JNIEnv) -> bool {
    known_current().is_some_and(|thread| thread.env() == env || thread.runs_in(env))
        && !env.is_null()
}

/// Returns the record of the current thread, if it has run code of the shim before. May be called in a signal
/// handler: the shim signals only threads that have used this storage before, so the call does not allocate it.
#[inline]
pub fn known_current() -> Option<Current> {
    let thread = thread_local_word::get::<Thread>();
    (!thread.is_null()).then_some(Current(thread))
}

/// Makes this the record of the current thread. If the thread detaches in a destructor of a `pthread_key`, its
/// thread-local storage is gone, and the registry keeps the record.
pub fn own(thread: Option<Arc<Thread>>) {
    let mut thread = Some(thread);
    if OWNER.try_with(|owner| owner.set(thread.take().flatten())).is_err()
        && let Some(late) = thread.flatten()
    {
        registry::keep(late);
    }
}

/// Returns the record of the current thread, even if another thread has created it.
pub fn recorded() -> Option<Arc<Thread>> {
    let known = known_current_env();
    let env = if known.is_null() { jvm::try_get()?.jni()?.env() } else { known };
    registry::by_env(env)
}
