//! Thread-local data.
//!
//! The VM stores one pointer per thread, which here points to a [`Block`]. THREAD_END removes the block from the
//! thread and frees it. If some thread holds a [`Theirs`] at that moment, a later THREAD_END frees the block.

use crate::context::mode::{Loaded, MayLock};
use crate::load::{LoadError, OnLoad};
use crate::{Context, Jvmpi, ThreadId};
use jni_sys::JNIEnv;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering, fence};

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

/// The data of one thread.
#[repr(C)]
struct Block<T> {
    header: Header,
    data: T,
}

/// The part of a block that does not depend on the type of its data.
struct Header {
    /// Drops the block.
    free: unsafe fn(*mut Header),
    /// The next block in [`RETIRED`].
    next: *mut Header,
}

/// True once a [`ThreadLocal`] exists.
static IN_USE: AtomicBool = AtomicBool::new(false);
/// The number of [`Theirs`], including those about to be created.
static READERS: AtomicUsize = AtomicUsize::new(0);
/// The blocks of ended threads that a reader may still use.
static RETIRED: AtomicPtr<Header> = AtomicPtr::new(ptr::null_mut());
/// Held while a thread is given its block.
static GIVING: Mutex<()> = Mutex::new(());

impl<T: Send + 'static> ThreadLocal<T> {
    /// Creates the `ThreadLocal`, without data.
    ///
    /// # Errors
    /// Fails if the agent has already created one.
    pub fn new(jvmpi: &mut OnLoad) -> Result<Self, LoadError> {
        if IN_USE.swap(true, Ordering::Relaxed) {
            return Err("an agent can create only one ThreadLocal".into());
        }
        jvmpi.enable(crate::EventType::ThreadEnd);
        Ok(Self { _data: PhantomData })
    }

    /// Returns the data of the current thread, or `None` if it has none yet. Always `None` in GC_START and
    /// GC_FINISH, which do not belong to a thread.
    #[inline]
    pub fn get<'e, M: Loaded + MayLock>(&self, jvmpi: &Context<'e, M>) -> Option<&'e T> {
        let block = block(jvmpi.jvmpi(), jvmpi.current()?)?;
        // SAFETY: the block has this type, as there is only one `ThreadLocal`. It is freed when the current
        // thread ends, which is after `'e`.
        Some(unsafe { &(*block.cast::<Block<T>>().as_ptr()).data })
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
        let block = block(jvmpi.jvmpi(), thread.as_ptr())?;
        // SAFETY: the block has this type, as there is only one `ThreadLocal`. It is freed only after it was
        // removed from the thread, and only when no reader exists that may have seen it before.
        let data = unsafe { NonNull::from(&(*block.cast::<Block<T>>().as_ptr()).data) };
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
        // SAFETY: the reader keeps the data alive.
        unsafe { self.data.as_ref() }
    }
}

impl<T: fmt::Debug> fmt::Debug for Theirs<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// A reader: while it exists, no block that it may have seen is freed.
struct Reader(());

impl Reader {
    fn new() -> Self {
        READERS.fetch_add(1, Ordering::Relaxed);
        // Either this reader sees that the block has left its thread, or the thread that removed the block
        // sees this reader in `free_retired`.
        fence(Ordering::SeqCst);
        Self(())
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        READERS.fetch_sub(1, Ordering::Release);
    }
}

/// Returns the block of a thread.
#[inline]
fn block(jvmpi: Jvmpi, env: *mut JNIEnv) -> Option<NonNull<Header>> {
    // SAFETY: GetThreadLocalStorage may be called in all modes; an invalid thread yields NULL.
    NonNull::new(unsafe { (jvmpi.table().GetThreadLocalStorage)(env) }.cast())
}

fn set(jvmpi: Jvmpi, env: *mut JNIEnv, block: *mut Header) {
    // SAFETY: SetThreadLocalStorage may be called in all modes; an invalid thread has no effect.
    unsafe { (jvmpi.table().SetThreadLocalStorage)(env, block.cast()) };
}

/// Gives a thread its data unless it already has some. Data for a thread that has ended is lost.
#[cold]
fn give<T: Send + 'static>(jvmpi: Jvmpi, env: *mut JNIEnv, data: T) {
    unsafe fn free<T>(block: *mut Header) {
        // SAFETY: the block was allocated below with this type, and the caller has the only pointer to it.
        drop(unsafe { Box::from_raw(block.cast::<Block<T>>()) });
    }
    let header = Header { free: free::<T>, next: ptr::null_mut() };
    let new = Box::new(Block { header, data });
    let _giving = GIVING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if block(jvmpi, env).is_none() {
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
        if IN_USE.load(Ordering::Relaxed)
            && let Some(ended) = block(jvmpi, env)
        {
            set(jvmpi, env, ptr::null_mut());
            retire(ended.as_ptr(), ended.as_ptr());
            free_retired();
        }
    }
}

/// Adds a chain of blocks to those waiting to be freed.
fn retire(first: *mut Header, last: *mut Header) {
    let link = |old| {
        // SAFETY: the chain belongs to the caller until it is in the list.
        unsafe { (*last).next = old };
        Some(first)
    };
    let _ = RETIRED.fetch_update(Ordering::Release, Ordering::Relaxed, link);
}

/// Frees the blocks of ended threads if there is no reader.
fn free_retired() {
    // With a reader, the blocks would only be put back.
    if READERS.load(Ordering::Relaxed) > 0 {
        return;
    }
    let mut block = RETIRED.swap(ptr::null_mut(), Ordering::Acquire);
    // These blocks were removed from their threads before. Pairs with the fence in `Reader::new`.
    fence(Ordering::SeqCst);
    let is_read = READERS.load(Ordering::Acquire) > 0;
    if is_read && !block.is_null() {
        let first = block;
        // SAFETY: this thread has taken the chain out of the list and owns it.
        unsafe {
            while !(*block).next.is_null() {
                block = (*block).next;
            }
        }
        retire(first, block);
        return;
    }
    while !block.is_null() {
        // SAFETY: this thread owns the chain, and no reader is left that could have seen its blocks.
        unsafe {
            let next = (*block).next;
            ((*block).free)(block);
            block = next;
        }
    }
}
