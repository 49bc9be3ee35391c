//! Thread-local data.
//!
//! The VM keeps one pointer for each thread. It points to a [`Block`], which THREAD_END takes away and
//! frees, unless another thread looks at some block just then; then a later THREAD_END frees it.

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

/// Data of each thread, in the place that the VM has for it (Get- and SetThreadLocalStorage). An agent has
/// one such place, so it can make one of these.
///
/// The data is made when it is first asked for, and dropped after the agent's handler of THREAD_END,
/// which this enables.
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

/// What is known of a block whose data is of whatever type.
struct Header {
    /// Drops the block.
    free: unsafe fn(*mut Header),
    /// The next block in [`RETIRED`].
    next: *mut Header,
}

/// Whether there is a [`ThreadLocal`].
static IN_USE: AtomicBool = AtomicBool::new(false);
/// How many [`Theirs`] there are, and threads that are about to make one.
static READERS: AtomicUsize = AtomicUsize::new(0);
/// The blocks of threads that have ended, which a reader may still have.
static RETIRED: AtomicPtr<Header> = AtomicPtr::new(ptr::null_mut());
/// Belongs to who gives a thread its block.
static GIVING: Mutex<()> = Mutex::new(());

impl<T: Send + 'static> ThreadLocal<T> {
    /// The place, with nothing in it. It fails if the agent has made one already.
    pub fn new(jvmpi: &mut OnLoad) -> Result<Self, LoadError> {
        if IN_USE.swap(true, Ordering::Relaxed) {
            return Err("an agent has one place for thread-local data".into());
        }
        jvmpi.enable(crate::EventType::ThreadEnd);
        Ok(Self { _data: PhantomData })
    }

    /// The data of the current thread. None if it has none yet, and in GC_START and GC_FINISH, which are
    /// events of no thread.
    #[inline]
    pub fn get<'e, M: Loaded + MayLock>(&self, jvmpi: &Context<'e, M>) -> Option<&'e T> {
        let block = block(jvmpi.jvmpi(), jvmpi.current()?)?;
        // SAFETY: the block is of this type, as there is but one place. It is freed when the current
        // thread ends, which is after 'e.
        Some(unsafe { &(*block.cast::<Block<T>>().as_ptr()).data })
    }

    /// The data of the current thread, which `init` makes if it has none yet. None in GC_START and
    /// GC_FINISH, which are events of no thread.
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

/// What threads know of each other.
impl<T: Send + Sync + 'static> ThreadLocal<T> {
    /// The data of any thread. None if it has none, or is no more.
    ///
    /// It may be called while threads are suspended.
    pub fn of<M: Loaded>(&self, jvmpi: &Context<'_, M>, thread: ThreadId) -> Option<Theirs<T>> {
        let reader = Reader::new();
        let block = block(jvmpi.jvmpi(), thread.as_ptr())?;
        // SAFETY: the block is of this type, as there is but one place. It is freed after it was taken
        // from the thread, and when there is no reader who may have seen it before.
        let data = unsafe { NonNull::from(&(*block.cast::<Block<T>>().as_ptr()).data) };
        Some(Theirs { data, _reader: reader })
    }

    /// The data of any thread, which `init` makes if it has none yet. None if there is no such thread.
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

/// Another name for the same place.
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

/// The data of a thread, perhaps of another one, which keeps it though the thread ends.
pub struct Theirs<T> {
    data: NonNull<T>,
    _reader: Reader,
}

// SAFETY: a shared reference to the data, with what keeps it.
unsafe impl<T: Sync> Send for Theirs<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Theirs<T> {}

impl<T> Deref for Theirs<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the reader keeps it.
        unsafe { self.data.as_ref() }
    }
}

impl<T: fmt::Debug> fmt::Debug for Theirs<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// While there is one, no block is freed that it may have seen.
struct Reader(());

impl Reader {
    fn new() -> Self {
        READERS.fetch_add(1, Ordering::Relaxed);
        // Either this reader finds that the block is gone from its thread, or who has taken it away
        // finds the reader.
        fence(Ordering::SeqCst);
        Self(())
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        READERS.fetch_sub(1, Ordering::Release);
    }
}

/// What the thread has in its place.
#[inline]
fn block(jvmpi: Jvmpi, env: *mut JNIEnv) -> Option<NonNull<Header>> {
    // SAFETY: may be called in all modes; bad threads give NULL.
    NonNull::new(unsafe { (jvmpi.table().GetThreadLocalStorage)(env) }.cast())
}

fn set(jvmpi: Jvmpi, env: *mut JNIEnv, block: *mut Header) {
    // SAFETY: may be called in all modes; bad threads do nothing.
    unsafe { (jvmpi.table().SetThreadLocalStorage)(env, block.cast()) };
}

/// Gives a thread its data, unless it has some. What is given to a thread that has ended is gone.
#[cold]
fn give<T: Send + 'static>(jvmpi: Jvmpi, env: *mut JNIEnv, data: T) {
    unsafe fn free<T>(block: *mut Header) {
        // SAFETY: it was made below, and the caller has the only pointer to it.
        drop(unsafe { Box::from_raw(block.cast::<Block<T>>()) });
    }
    let header = Header { free: free::<T>, next: ptr::null_mut() };
    let new = Box::new(Block { header, data });
    let _giving = GIVING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if block(jvmpi, env).is_none() {
        set(jvmpi, env, Box::into_raw(new).cast());
    }
}

/// Takes a thread's data away when it is dropped, for the thread has ended.
pub(crate) struct AtEnd {
    jvmpi: Jvmpi,
    env: *mut JNIEnv,
}

impl AtEnd {
    pub(crate) fn new(jvmpi: Jvmpi, env: *mut JNIEnv) -> Self {
        Self { jvmpi, env }
    }
}

impl Drop for AtEnd {
    fn drop(&mut self) {
        end(self.jvmpi, self.env);
    }
}

fn end(jvmpi: Jvmpi, env: *mut JNIEnv) {
    if !IN_USE.load(Ordering::Relaxed) {
        return;
    }
    let Some(ended) = block(jvmpi, env) else { return };
    set(jvmpi, env, ptr::null_mut());
    retire(ended.as_ptr(), ended.as_ptr());
    free_retired();
}

/// Adds a chain of blocks to those that wait to be freed.
fn retire(first: *mut Header, last: *mut Header) {
    let link = |old| {
        // SAFETY: the chain belongs to the caller until it is in.
        unsafe { (*last).next = old };
        Some(first)
    };
    let _ = RETIRED.fetch_update(Ordering::Release, Ordering::Relaxed, link);
}

/// Frees the blocks of threads that have ended, if nobody reads.
fn free_retired() {
    // Then it would only be put back.
    if READERS.load(Ordering::Relaxed) > 0 {
        return;
    }
    let mut block = RETIRED.swap(ptr::null_mut(), Ordering::Acquire);
    // These were taken from their threads before. See `Reader::new`.
    fence(Ordering::SeqCst);
    let is_read = READERS.load(Ordering::Acquire) > 0;
    if is_read && !block.is_null() {
        let first = block;
        // SAFETY: the chain belongs to this thread now.
        unsafe {
            while !(*block).next.is_null() {
                block = (*block).next;
            }
        }
        retire(first, block);
        return;
    }
    while !block.is_null() {
        // SAFETY: the chain belongs to this thread now, and whoever could have seen its blocks is gone.
        unsafe {
            let next = (*block).next;
            ((*block).free)(block);
            block = next;
        }
    }
}
