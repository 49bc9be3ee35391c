//! A table that only grows, and is read without a lock.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

const CHUNK: usize = 1 << 12;
const CHUNKS: usize = 1 << 13;

/// Up to 33 million entries, by number. They stay where they are, and are never dropped.
pub struct Growing<T> {
    /// Arrays of [`CHUNK`] entries, or NULL.
    chunks: [AtomicPtr<T>; CHUNKS],
    count: AtomicUsize,
}

impl<T: Default> Growing<T> {
    pub const fn new() -> Self {
        Self {
            chunks: [const { AtomicPtr::new(ptr::null_mut()) }; CHUNKS],
            count: AtomicUsize::new(0),
        }
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
            make(place);
        }
        self.known(number)
    }
}

/// Puts a chunk in its place, unless another thread does.
#[cold]
fn make<T: Default>(place: &AtomicPtr<T>) {
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
        static TABLE: Growing<AtomicU32> = Growing::new();
        let first = TABLE.reserve(3 * CHUNK);
        let last = first + 3 * CHUNK - 1;
        TABLE.get(last).unwrap().store(7, Ordering::Relaxed);
        assert_eq!(TABLE.get(first).unwrap().load(Ordering::Relaxed), 0);
        assert_eq!(TABLE.get(last).unwrap().load(Ordering::Relaxed), 7);
        assert!(ptr::eq(TABLE.get(first).unwrap(), TABLE.get(first).unwrap()));
        assert!(TABLE.get(CHUNK * CHUNKS).is_none());
    }
}
