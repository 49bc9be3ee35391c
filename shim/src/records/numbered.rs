//! Tables of things that rewritten code and signal handlers name by numbers: they only grow and are read without a lock.
//! Also ranges of free numbers, and the keys of `lookupswitch` instructions.

use jvm::lock::Lock;
use jvm::platform::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::ptr;
use std::sync::{LazyLock, OnceLock};

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

/// Ranges of numbers that do not touch each other: their ends, by their beginnings.
pub struct Runs(BTreeMap<usize, usize>);

impl Runs {
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// Adds a range of numbers. None of them may be contained already.
    pub fn put(&mut self, run: Range<usize>) {
        let Range { mut start, mut end } = run;
        let last_before = self.0.range(..end).next_back();
        debug_assert!(last_before.is_none_or(|(_, end)| *end <= start), "it is put twice");
        if let Some((before, _)) = self.0.range(..start).next_back().filter(|(_, e)| **e == start) {
            start = *before;
        }
        if let Some(end_behind) = self.0.remove(&end) {
            end = end_behind;
        }
        self.0.insert(start, end);
    }

    /// Removes `count` consecutive numbers and returns the first.
    pub fn take(&mut self, count: usize) -> Option<usize> {
        let (start, end) = self.0.iter().find(|(start, end)| **end - **start >= count)?;
        let (start, end) = (*start, *end);
        self.0.remove(&start);
        if start + count < end {
            self.0.insert(start + count, end);
        }
        Some(start)
    }

    /// Removes at most `most` consecutive numbers, the lowest ones.
    pub fn take_some(&mut self, most: usize) -> Option<Range<usize>> {
        let (start, end) = self.0.pop_first()?;
        let split = end.min(start + most);
        if split < end {
            self.0.insert(split, end);
        }
        Some(start..split)
    }
}

/// The keys of a `lookupswitch`.
type Keys = Box<[i32]>;

static KEYS: AppendOnly<OnceLock<Keys>> = AppendOnly::new();
/// The number of each list of keys. A class that is rewritten again gets the same numbers.
static NUMBERS: LazyLock<Lock<HashMap<Keys, usize>>> = LazyLock::new(Lock::default);

/// Returns the number of a list of keys, which are in ascending order as in the class file.
pub fn number_keys(keys: Keys) -> usize {
    let mut numbers = NUMBERS.lock();
    *numbers.entry(keys).or_insert_with_key(|keys| {
        let number = KEYS.reserve(1);
        if let Some(place) = KEYS.get(number) {
            place.get_or_init(|| keys.clone());
        }
        number
    })
}

/// Returns the index of the pair that a key selects, and the number of pairs. The index of the
/// default is the number of pairs.
pub fn choose_key(number: usize, key: i32) -> Option<(usize, usize)> {
    let keys = KEYS.get(number)?.get()?;
    Some((keys.binary_search(&key).unwrap_or(keys.len()), keys.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

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

    #[test]
    fn returned_runs_are_merged_and_taken_again() {
        let mut runs = Runs::new();
        assert_eq!(runs.take(1), None);
        for run in [10..14, 0..4, 20..22, 4..10] {
            runs.put(run);
        }
        assert_eq!(runs.take(15), None);
        assert_eq!(runs.take(14), Some(0));
        assert_eq!((runs.take(1), runs.take_some(9), runs.take(1)), (Some(20), Some(21..22), None));
        runs.put(30..40);
        assert_eq!((runs.take_some(3), runs.take(7)), (Some(30..33), Some(33)));
    }
}
