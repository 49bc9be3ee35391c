//! The rule that a thread allocates nothing while it has other threads suspended.
//!
//! A suspended thread may be inside a JNI critical section, where HotSpot cannot collect garbage. An allocation in the
//! Java heap that needs a collection would wait for that thread, which waits for this one. SuspendThread and
//! SuspendThreadList do not call `malloc` or `free` either. With debug assertions, which all tests have, a call that
//! breaks the rule aborts the process.
//!
//! Dumps and GetCallTrace may call `malloc`. JVMTI suspends no thread inside `malloc`, so no suspended thread holds its
//! lock.

#[cfg(debug_assertions)]
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::marker::PhantomData;

thread_local! {
    /// The number of [`Suspending`]s of the current thread, and the number of those that forbid `malloc`.
    static COUNTS: Cell<(u32, u32)> = const { Cell::new((0, 0)) };
}

fn counts() -> (u32, u32) {
    COUNTS.try_with(Cell::get).unwrap_or_default()
}

/// A guard for the time during which the current thread has other threads suspended.
#[must_use]
pub struct Suspending {
    forbids_malloc: bool,
    _of_this_thread: PhantomData<*mut ()>,
}

impl Suspending {
    fn new(forbids_malloc: bool) -> Self {
        let (all, strict) = counts();
        let _ = COUNTS.try_with(|counts| counts.set((all + 1, strict + u32::from(forbids_malloc))));
        Self { forbids_malloc, _of_this_thread: PhantomData }
    }
}

impl Drop for Suspending {
    fn drop(&mut self) {
        let (all, strict) = counts();
        let strict = strict - u32::from(self.forbids_malloc);
        let _ = COUNTS.try_with(|counts| counts.set((all - 1, strict)));
    }
}

/// Begins before the first thread is suspended. May be nested.
pub fn begin() -> Suspending {
    Suspending::new(false)
}

/// Begins like [`begin`], and also forbids `malloc` and `free`.
pub fn begin_without_malloc() -> Suspending {
    Suspending::new(true)
}

/// Returns true if the current thread has other threads suspended.
pub fn is_suspending() -> bool {
    counts().0 > 0
}

/// Called before each JNI function that may allocate in the Java heap.
#[inline]
pub(crate) fn assert_may_allocate() {
    if cfg!(debug_assertions) && is_suspending() {
        fail("a Java object is allocated");
    }
}

fn fail(what: &str) -> ! {
    // The following code allocates.
    let _ = COUNTS.try_with(|counts| counts.set((0, 0)));
    let stack = std::backtrace::Backtrace::force_capture();
    eprintln!("[jvmpi] error: {what} while threads are suspended\n{stack}");
    std::process::abort();
}

/// The system's allocator with the check.
#[cfg(debug_assertions)]
pub struct Checked;

#[cfg(debug_assertions)]
impl Checked {
    fn assert_may_call() {
        if counts().1 > 0 {
            fail("malloc or free is called");
        }
    }
}

// SAFETY: all calls are passed on to the system's allocator.
#[cfg(debug_assertions)]
unsafe impl GlobalAlloc for Checked {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::assert_may_call();
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        Self::assert_may_call();
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        Self::assert_may_call();
        // SAFETY: as the caller promises.
        unsafe { System.realloc(block, layout, new_size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        Self::assert_may_call();
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(block, layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocation_is_allowed_again_when_all_threads_are_resumed() {
        let outer = begin();
        drop(begin_without_malloc());
        assert_eq!(counts(), (1, 0));
        drop(outer);
        assert!(!is_suspending());
        assert_may_allocate();
    }
}
