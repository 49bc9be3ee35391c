//! A table that only grows, and is read without a lock.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// Up to `CHUNK * CHUNKS` entries, by number; usually 33 million. They stay where they are, and are
/// never dropped.
pub struct Growing<T, const CHUNK: usize = 4096, const CHUNKS: usize = 8192> {
    /// Arrays of `CHUNK` entries, or NULL.
    chunks: [AtomicPtr<T>; CHUNKS],
    count: AtomicUsize,
}

impl<T: Default, const CHUNK: usize, const CHUNKS: usize> Growing<T, CHUNK, CHUNKS> {
    pub const fn new() -> Self {
        Self {
            chunks: [const { AtomicPtr::new(ptr::null_mut()) }; CHUNKS],
            count: AtomicUsize::new(0),
        }
    }

    /// How many numbers have been reserved.
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Numbers for so many entries; the first of them. Those beyond the end have none.
    pub fn reserve(&self, count: usize) -> usize {
        self.count.fetch_add(count, Ordering::Relaxed)
    }

    /// The entry with a number, if anybody has asked for it or a near one with [`Self::get`].
    #[inline]
    pub fn known(&self, number: usize) -> Option<&T> {
        let chunk = self.chunks.get(number / CHUNK)?.load(Ordering::Acquire);
        // SAFETY: a chunk has this many entries, which live for ever.
        (!chunk.is_null()).then(|| unsafe { &*chunk.add(number % CHUNK) })
    }

    /// The entry with a number that was reserved.
    pub fn get(&self, number: usize) -> Option<&T> {
        let place = self.chunks.get(number / CHUNK)?;
        if place.load(Ordering::Acquire).is_null() {
            make::<_, CHUNK>(place);
        }
        self.known(number)
    }
}

/// Puts a chunk in its place, unless another thread does.
#[cold]
fn make<T: Default, const CHUNK: usize>(place: &AtomicPtr<T>) {
    let new: Box<[T]> = (0..CHUNK).map(|_| T::default()).collect();
    let new = Box::into_raw(new).cast::<T>();
    let null = ptr::null_mut();
    if place.compare_exchange(null, new, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        // SAFETY: the chunk comes from a box of this length, and nobody else knows of it.
        drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(new, CHUNK)) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn entries_stay_where_they_are() {
        const CHUNK: usize = 4;
        const CHUNKS: usize = 8;
        static TABLE: Growing<AtomicU32, CHUNK, CHUNKS> = Growing::new();
        let first = TABLE.reserve(3 * CHUNK);
        let last = first + 3 * CHUNK - 1;
        TABLE.get(last).unwrap().store(7, Ordering::Relaxed);
        assert_eq!(TABLE.get(first).unwrap().load(Ordering::Relaxed), 0);
        assert_eq!(TABLE.get(last).unwrap().load(Ordering::Relaxed), 7);
        assert!(ptr::eq(TABLE.get(first).unwrap(), TABLE.get(first).unwrap()));
        assert!(TABLE.get(CHUNK * CHUNKS).is_none());
    }
}
