//! Thread-local data.
//!
//! The VM stores one pointer per thread, which here points to the thread's data. THREAD_END removes the data from the
//! thread and drops it. If some thread holds a [`Theirs`] at that moment, a later THREAD_END drops the data.

use crate::context::mode::{Loaded, MayLock};
use crate::load::{LoadError, OnLoad};
use crate::{Context, Jvmpi, ThreadId};
use jni_sys::JNIEnv;
use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::mem;
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Data of each thread, in the VM's thread-local storage (GetThreadLocalStorage and SetThreadLocalStorage). The
/// VM has one slot per thread and agent, so an agent can create only one `ThreadLocal`.
///
/// The data is created on first use and dropped after the agent's handler of THREAD_END. Creating a
/// `ThreadLocal` enables THREAD_END.
///
/// ```
/// # use jvmpi::*;
/// # use std::cell::Cell;
/// struct Calls {
///     of_thread: ThreadLocal<Cell<u64>>,
/// }
///
/// impl Agent for Calls {
///     fn load(jvmpi: &mut OnLoad, _: &str) -> Result<Self, LoadError> {
///         jvmpi.enable(EventType::MethodEntry);
///         Ok(Self { of_thread: ThreadLocal::new(jvmpi)? })
///     }
///
///     fn method_entry(&self, jvmpi: &mut MultiThreaded<'_>, _: MethodId) {
///         if let Some(calls) = self.of_thread.get_or_init(jvmpi, || Cell::new(0)) {
///             calls.set(calls.get() + 1);
///         }
///     }
/// }
/// ```
pub struct ThreadLocal<T> {
    _data: PhantomData<fn() -> T>,
}

/// The data of a thread, whose type only the [`ThreadLocal`] knows.
type Data = NonNull<c_void>;

/// Drops data. Set once the [`ThreadLocal`] exists: there is only one, so all data has the same type.
static FREE: OnceLock<unsafe fn(Data)> = OnceLock::new();
/// The number of [`Theirs`], including those about to be created.
static READERS: AtomicUsize = AtomicUsize::new(0);
/// The data of ended threads that a reader may still use.
static RETIRED: Mutex<Vec<Retired>> = Mutex::new(Vec::new());
/// Held while a thread is given its data.
static GIVING: Mutex<()> = Mutex::new(());

struct Retired(Data);

// SAFETY: the data of a `ThreadLocal` is `Send`.
unsafe impl Send for Retired {}

impl<T: Send + 'static> ThreadLocal<T> {
    /// Creates the `ThreadLocal`, without data.
    ///
    /// # Errors
    /// Fails if the agent has already created one.
    pub fn new(jvmpi: &mut OnLoad) -> Result<Self, LoadError> {
        unsafe fn free<T>(data: Data) {
            // SAFETY: `give` has allocated the data with this type, and the caller has the only pointer to it.
            drop(unsafe { Box::from_raw(data.as_ptr().cast::<T>()) });
        }
        if FREE.set(free::<T>).is_err() {
            return Err("an agent can create only one ThreadLocal".into());
        }
        jvmpi.enable(crate::EventType::ThreadEnd);
        Ok(Self { _data: PhantomData })
    }

    /// Returns the data of the current thread, or `None` if it has none yet. Always `None` in GC_START and
    /// GC_FINISH, which do not belong to a thread.
    #[inline]
    pub fn get<'e, M: Loaded + MayLock>(&self, jvmpi: &Context<'e, M>) -> Option<&'e T> {
        let data = data(jvmpi.jvmpi(), jvmpi.current()?)?;
        // SAFETY: the data has this type, as there is only one `ThreadLocal`. It is dropped when the current
        // thread ends, which is after `'e`.
        Some(unsafe { data.cast().as_ref() })
    }

    /// Returns the data of the current thread, and calls `init` to create it if needed. Always `None` in
    /// GC_START and GC_FINISH, which do not belong to a thread.
    #[inline]
    pub fn get_or_init<'e, M: Loaded + MayLock>(
        &self,
        jvmpi: &Context<'e, M>,
        init: impl FnOnce() -> T,
    ) -> Option<&'e T> {
        if let Some(data) = self.get(jvmpi) {
            return Some(data);
        }
        give(jvmpi.jvmpi(), jvmpi.current()?, init());
        self.get(jvmpi)
    }
}

/// Access to the data of other threads.
impl<T: Send + Sync + 'static> ThreadLocal<T> {
    /// Returns the data of any thread, or `None` if the thread has none or has ended.
    ///
    /// It may be called while threads are suspended.
    pub fn of<M: Loaded>(&self, jvmpi: &Context<'_, M>, thread: ThreadId) -> Option<Theirs<T>> {
        let reader = Reader::new();
        // The data has this type, as there is only one `ThreadLocal`.
        let data = data(jvmpi.jvmpi(), thread.as_ptr())?.cast();
        Some(Theirs { data, _reader: reader })
    }

    /// Returns the data of any thread, and calls `init` to create it if needed. `None` if there is no such thread.
    pub fn of_or_init<M: Loaded + MayLock>(
        &self,
        jvmpi: &Context<'_, M>,
        thread: ThreadId,
        init: impl FnOnce() -> T,
    ) -> Option<Theirs<T>> {
        if let Some(data) = self.of(jvmpi, thread) {
            return Some(data);
        }
        give(jvmpi.jvmpi(), thread.as_ptr(), init());
        self.of(jvmpi, thread)
    }
}

/// Copies refer to the same data.
impl<T> Clone for ThreadLocal<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for ThreadLocal<T> {}

impl<T> fmt::Debug for ThreadLocal<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadLocal").finish_non_exhaustive()
    }
}

/// The data of a thread, usually another one. It stays valid even if that thread ends.
pub struct Theirs<T> {
    data: NonNull<T>,
    _reader: Reader,
}

// SAFETY: it is a shared reference to the data, together with the reader that keeps the data alive.
unsafe impl<T: Sync> Send for Theirs<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Theirs<T> {}

impl<T> Deref for Theirs<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the data is dropped only after it was removed from its thread, and only when no reader exists that may
        // have seen it before.
        unsafe { self.data.as_ref() }
    }
}

impl<T: fmt::Debug> fmt::Debug for Theirs<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// A reader: while it exists, no data that it may have seen is dropped.
struct Reader(());

impl Reader {
    fn new() -> Self {
        READERS.fetch_add(1, Ordering::Relaxed);
        // Either this reader sees that the data has left its thread, or the thread that removed the data
        // sees this reader in `retire`.
        fence(Ordering::SeqCst);
        Self(())
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        READERS.fetch_sub(1, Ordering::Release);
    }
}

/// Returns the data of a thread.
#[inline]
fn data(jvmpi: Jvmpi, env: *mut JNIEnv) -> Option<Data> {
    // SAFETY: GetThreadLocalStorage may be called in all modes; an invalid thread yields NULL.
    NonNull::new(unsafe { (jvmpi.table().GetThreadLocalStorage)(env) })
}

fn set(jvmpi: Jvmpi, env: *mut JNIEnv, data: *mut c_void) {
    // SAFETY: SetThreadLocalStorage may be called in all modes; an invalid thread has no effect.
    unsafe { (jvmpi.table().SetThreadLocalStorage)(env, data) };
}

/// Gives a thread its data unless it already has some. Data for a thread that has ended is lost.
#[cold]
fn give<T: Send + 'static>(jvmpi: Jvmpi, env: *mut JNIEnv, new: T) {
    let new = Box::new(new);
    let _giving = GIVING.lock().unwrap_or_else(PoisonError::into_inner);
    if data(jvmpi, env).is_none() {
        set(jvmpi, env, Box::into_raw(new).cast());
    }
}

/// Removes the data of a thread that has ended, when dropped.
pub(crate) struct AtEnd {
    pub jvmpi: Jvmpi,
    pub env: *mut JNIEnv,
}

impl Drop for AtEnd {
    fn drop(&mut self) {
        let Self { jvmpi, env } = *self;
        if let Some(free) = FREE.get()
            && let Some(ended) = data(jvmpi, env)
        {
            set(jvmpi, env, ptr::null_mut());
            retire(ended, *free);
        }
    }
}

/// Drops the data of a thread that has ended, and of those before it, if there is no reader.
fn retire(ended: Data, free: unsafe fn(Data)) {
    let mut retired = RETIRED.lock().unwrap_or_else(PoisonError::into_inner);
    retired.push(Retired(ended));
    // All of this data was removed from its threads before. Pairs with the fence in `Reader::new`.
    fence(Ordering::SeqCst);
    if READERS.load(Ordering::Acquire) > 0 {
        return;
    }
    let all = mem::take(&mut *retired);
    // The agent's own code runs without the lock.
    drop(retired);
    for Retired(data) in all {
        // SAFETY: this thread has taken the data, and no reader is left that could have seen it.
        unsafe { free(data) };
    }
}
