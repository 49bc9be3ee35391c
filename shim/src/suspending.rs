//! The rule that a thread allocates nothing in the Java heap while it has other threads suspended.
//!
//! A suspended thread may be inside a JNI critical section, where HotSpot cannot collect garbage. An allocation
//! that needs a collection would wait for that thread, which waits for this one. With debug assertions, as all
//! tests run, such an allocation aborts the process.

use std::cell::Cell;
use std::marker::PhantomData;

thread_local! {
    /// How many [`Suspending`]s the current thread has.
    static COUNT: Cell<u32> = const { Cell::new(0) };
}

/// The current thread has other threads suspended until this is dropped.
#[must_use]
pub struct Suspending(PhantomData<*mut ()>);

/// Begins before the first thread is suspended. May be nested.
pub fn begin() -> Suspending {
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
    Suspending(PhantomData)
}

impl Drop for Suspending {
    fn drop(&mut self) {
        let _ = COUNT.try_with(|count| count.set(count.get() - 1));
    }
}

/// True if the current thread has other threads suspended.
pub fn is_suspending() -> bool {
    COUNT.try_with(Cell::get).is_ok_and(|count| count > 0)
}

/// Called before each JNI function that may allocate in the Java heap.
#[inline]
pub fn assert_may_allocate() {
    if cfg!(debug_assertions) && is_suspending() {
        eprintln!(
            "[jvmpi] error: a Java object is allocated while threads are suspended\n{}",
            std::backtrace::Backtrace::force_capture()
        );
        std::process::abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn java_objects_may_be_allocated_again_when_all_threads_are_resumed() {
        let outer = begin();
        drop(begin());
        assert_eq!(COUNT.get(), 1);
        drop(outer);
        assert_eq!(COUNT.get(), 0);
        assert_may_allocate();
    }
}
