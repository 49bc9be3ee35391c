//! A table that only grows and is read without a lock.

use crate::platform::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::ptr;

/// Up to `CHUNK * CHUNKS` entries, by number; by default 33 million. They never move, and are never
/// dropped.
pub struct AppendOnly<T, const CHUNK: usize = 4096, const CHUNKS: usize = 8192> {
    /// Arrays of `CHUNK` entries, or NULL.
    chunks: [AtomicPtr<T>; CHUNKS],
    count: AtomicUsize,
}

impl<T: Default, const CHUNK: usize, const CHUNKS: usize> AppendOnly<T, CHUNK, CHUNKS> {
    pub const fn new() -> Self {
        Self {
            chunks: [const { AtomicPtr::new(ptr::null_mut()) }; CHUNKS],
            count: AtomicUsize::new(0),
        }
    }

    /// Returns the largest possible number of entries.
    pub const fn capacity(&self) -> usize {
        CHUNK * CHUNKS
    }

    /// Returns the number of reserved numbers.
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Reserves `count` numbers and returns the first. Numbers beyond the end have no entry.
    pub fn reserve(&self, count: usize) -> usize {
        self.count.fetch_add(count, Ordering::Relaxed)
    }

    /// Returns the entry with this number, if [`Self::get`] was called for any entry of its chunk.
    #[inline]
    pub fn known(&self, number: usize) -> Option<&T> {
        let chunk = self.chunks.get(number / CHUNK)?.load(Ordering::Acquire);
        // SAFETY: a chunk has `CHUNK` entries, which are never freed.
        (!chunk.is_null()).then(|| unsafe { &*chunk.add(number % CHUNK) })
    }

    /// Returns the entry with this reserved number.
    pub fn get(&self, number: usize) -> Option<&T> {
        let place = self.chunks.get(number / CHUNK)?;
        if place.load(Ordering::Acquire).is_null() {
            make::<_, CHUNK>(place);
        }
        self.known(number)
    }
}

/// Allocates a chunk and stores it, unless another thread does so first.
#[cold]
fn make<T: Default, const CHUNK: usize>(place: &AtomicPtr<T>) {
    let new: Box<[T]> = (0..CHUNK).map(|_| T::default()).collect();
    let new = Box::into_raw(new).cast::<T>();
    let null = ptr::null_mut();
    if place.compare_exchange(null, new, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        // SAFETY: the chunk comes from a box of this length, and no other thread has seen it.
        drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(new, CHUNK)) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;
    use std::thread;

    #[test]
    fn entries_stay_where_they_are() {
        const CHUNK: usize = 4;
        const CHUNKS: usize = 8;
        static TABLE: AppendOnly<AtomicU32, CHUNK, CHUNKS> = AppendOnly::new();
        let first = TABLE.reserve(3 * CHUNK);
        let last = first + 3 * CHUNK - 1;
        TABLE.get(last).unwrap().store(7, Ordering::Relaxed);
        assert_eq!(TABLE.get(first).unwrap().load(Ordering::Relaxed), 0);
        assert_eq!(TABLE.get(last).unwrap().load(Ordering::Relaxed), 7);
        assert!(ptr::eq(TABLE.get(first).unwrap(), TABLE.get(first).unwrap()));
        assert!(TABLE.get(CHUNK * CHUNKS).is_none());
    }

    /// Every number belongs to one thread, whichever thread allocates the chunk of its entry. A thread
    /// that sees a pointer in an entry also sees the data behind it.
    #[test]
    fn threads_that_fill_it_at_once_share_it() {
        const CHUNK: usize = 16;
        const CHUNKS: usize = 2048;
        const THREADS: usize = 4;
        static TABLE: AppendOnly<AtomicPtr<usize>, CHUNK, CHUNKS> = AppendOnly::new();
        let fill = || {
            let mut filled = 0;
            while let Some(entry) = TABLE.get(TABLE.reserve(1)) {
                filled += 1;
                let content = Box::into_raw(Box::new(filled));
                let before = entry.swap(content, Ordering::Release);
                assert!(before.is_null(), "two threads have the number");
                if filled % (CHUNK / 2) == 0 {
                    thread::yield_now();
                }
            }
            filled
        };
        let look = || {
            let mut last = 0;
            while TABLE.count() < CHUNK * CHUNKS {
                let Some(entry) = TABLE.known(TABLE.count().saturating_sub(1)) else { continue };
                let content = entry.load(Ordering::Acquire);
                if !content.is_null() {
                    // SAFETY: it points into a box that is freed only after all threads have ended.
                    last = unsafe { *content };
                }
            }
            last
        };
        thread::scope(|scope| {
            let filling: Vec<_> = (0..THREADS).map(|_| scope.spawn(fill)).collect();
            let looking: Vec<_> = (0..2).map(|_| scope.spawn(look)).collect();
            let filled: usize = filling.into_iter().map(|thread| thread.join().unwrap()).sum();
            assert_eq!(filled, CHUNK * CHUNKS);
            looking.into_iter().for_each(|thread| assert!(thread.join().unwrap() <= filled));
        });
        for number in 0..CHUNK * CHUNKS {
            let content = TABLE.get(number).unwrap().load(Ordering::Acquire);
            // SAFETY: `fill` stored the pointer of a box there, and all threads have ended.
            drop(unsafe { Box::from_raw(content) });
        }
    }
}
