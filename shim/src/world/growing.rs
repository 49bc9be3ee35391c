//! A table that only grows, and is read without a lock.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

const CHUNK: usize = 1 << 12;
const CHUNKS: usize = 1 << 13;

/// Up to 33 million entries, by number. They stay where they are.
pub struct Growing<T> {
    chunks: [OnceLock<Box<[T]>>; CHUNKS],
    count: AtomicUsize,
}

impl<T: Default> Growing<T> {
    pub const fn new() -> Self {
        Self { chunks: [const { OnceLock::new() }; CHUNKS], count: AtomicUsize::new(0) }
    }

    /// Numbers for so many entries; the first of them. Those beyond the end have none.
    pub fn reserve(&self, count: usize) -> usize {
        self.count.fetch_add(count, Ordering::Relaxed)
    }

    /// The entry with a number that was reserved.
    pub fn get(&self, number: usize) -> Option<&T> {
        let chunk = self.chunks.get(number / CHUNK)?;
        let entries = chunk.get_or_init(|| (0..CHUNK).map(|_| T::default()).collect());
        entries.get(number % CHUNK)
    }
}
