//! The range of IDs, and free IDs that are not new: IDs that a thread has taken and not used, and, with the settings `ids=32bit` and
//! `ids=reused`, IDs of dead objects.

use super::tags::Tag;
use jvmpi_settings::{Arenas, Ids};
use std::ops::Range;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The limit of IDs of 32 bits.
const LIMIT: i64 = 1 << 32;
/// Reuse begins when 1/256 of these IDs is left. The rest is for use while no dead objects are known.
const RESERVE: i64 = 256;
/// A search is made only while more than 1/64 of all taken IDs are free. So a search passes few others for each
/// free one that it finds.
const SCARCE: i64 = 64;

/// The number of bits of a word.
const BITS: usize = usize::BITS as usize;

/// The set of free IDs below a limit.
pub struct FreeIds {
    /// A bit for each ID, 1 if it is free.
    words: Box<[AtomicUsize]>,
    count: AtomicUsize,
    /// The word at which the last search ended.
    place: AtomicUsize,
}

static FREE: LazyLock<FreeIds> = LazyLock::new(|| FreeIds::below(limit()));

fn limit() -> i64 {
    LIMIT.min(end())
}

/// Returns the effective setting. With `arenas=copying` no ID is reused, because survivors get new IDs and are
/// distinguished by age. With 32-bit pointers IDs have 32 bits.
fn setting() -> Ids {
    let options = jvmpi_settings::get();
    match options.ids {
        _ if options.arenas == Arenas::Copying => Ids::Unique,
        Ids::Unique if usize::BITS == 32 => Ids::Bits32,
        ids => ids,
    }
}

/// Takes at most `most` free IDs, if reuse is allowed now; `last` is the greatest ID taken so far.
pub fn take(last: i64, most: i64) -> Option<Run> {
    let is_due = match setting() {
        Ids::Unique | Ids::Reused => true,
        Ids::Bits32 => last >= limit() - limit() / RESERVE,
    };
    if is_due && FREE.count() * SCARCE > last / STEP { FREE.take(last, most) } else { None }
}

/// Takes at most `most` free IDs, if there are any. Called when no new IDs are left.
pub fn take_scarce(last: i64, most: i64) -> Option<Run> {
    FREE.take(last, most)
}

/// Frees the ID of a dead object. All agents must have got its OBJECT_FREE.
pub fn is_dead(tag: Tag) {
    if setting() != Ids::Unique && tag != Tag::OWN {
        FREE.put(Run { first: tag.id().addr() as i64, count: 1 });
    }
}

/// Frees IDs that no object has got.
pub fn are_unused(ids: Run) {
    if jvmpi_settings::get().arenas != Arenas::Copying {
        FREE.put(ids);
    }
}

impl FreeIds {
    fn below(limit: i64) -> Self {
        let words = (limit / STEP) as usize / BITS + 1;
        // The system zeroes the memory, so unused pages cost nothing.
        let words = Box::<[AtomicUsize]>::new_zeroed_slice(words);
        Self {
            // SAFETY: an atomic whose bits are all 0 has the value 0.
            words: unsafe { words.assume_init() },
            count: AtomicUsize::new(0),
            place: AtomicUsize::new(0),
        }
    }

    fn count(&self) -> i64 {
        self.count.load(Ordering::Relaxed) as i64
    }

    /// Frees these IDs. IDs above the limit are never reused.
    fn put(&self, ids: Run) {
        let mut number = (ids.first / STEP) as usize;
        let end = number + ids.count as usize;
        while number < end {
            let (word, start) = (number / BITS, number % BITS);
            let Some(word) = self.words.get(word) else { return };
            let count = (BITS - start).min(end - number);
            self.count.fetch_add(count, Ordering::Relaxed);
            word.fetch_or(lowest(count) << start, Ordering::Relaxed);
            number += count;
        }
    }

    /// Takes at most `most` consecutive free IDs from the IDs up to `last`.
    fn take(&self, last: i64, most: i64) -> Option<Run> {
        if self.count() == 0 {
            return None;
        }
        let end = self.words.len().min((last / STEP) as usize / BITS + 1);
        let from = self.place.load(Ordering::Relaxed).min(end);
        let mut words = (from..end).chain(0..from);
        let run = words.find_map(|word| {
            let bits = take_bits(&self.words[word], most)?;
            self.place.store(word, Ordering::Relaxed);
            let first = (word * BITS + bits.start) as i64 * STEP;
            Some(Run { first, count: bits.len() as i64 })
        })?;
        self.count.fetch_sub(run.count as usize, Ordering::Relaxed);
        Some(run)
    }
}

/// Returns a word whose `count` lowest bits are set.
fn lowest(count: usize) -> usize {
    usize::MAX >> (BITS - count)
}

/// Clears the lowest run of set bits, at most `most` of them. Returns their range.
fn take_bits(word: &AtomicUsize, most: i64) -> Option<Range<usize>> {
    let mut bits = word.load(Ordering::Relaxed);
    while bits != 0 {
        let start = bits.trailing_zeros() as usize;
        let count = ((bits >> start).trailing_ones() as usize).min(most as usize);
        let left = bits & !(lowest(count) << start);
        match word.compare_exchange(bits, left, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return Some(start..start + count),
            Err(now) => bits = now,
        }
    }
    None
}

/// The distance between two IDs.
pub const STEP: i64 = 16;

/// The limit of all IDs: they fit into a pointer, and into the bits that a tag has for the ID.
const END: i64 = if usize::BITS == 32 { 1 << 32 } else { 1 << 48 };

/// Returns the limit of all IDs. In builds with debug assertions, which tests use, the environment variable
/// `JVMPI_TEST_IDS` sets the number of IDs.
pub fn end() -> i64 {
    #[cfg(debug_assertions)]
    {
        use std::sync::LazyLock;

        static FEW: LazyLock<Option<i64>> = LazyLock::new(|| {
            let count: i64 = std::env::var("JVMPI_TEST_IDS").ok()?.parse().ok()?;
            Some((count + 1) * STEP)
        });
        FEW.unwrap_or(END)
    }
    #[cfg(not(debug_assertions))]
    END
}

/// IDs that follow each other in steps of 16.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// The first ID.
    pub first: i64,
    /// The number of IDs.
    pub count: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_id_is_given_once() {
        const LAST: i64 = 1000 * STEP;
        let free = FreeIds::below(LAST);
        let put = |numbers: Range<i64>| {
            let count = numbers.end - numbers.start;
            free.put(Run { first: numbers.start * STEP, count });
        };
        put(10..20);
        put(100..300);
        (500..510).for_each(|number| put(number..number + 1));
        // IDs above the limit are not added.
        put(2000..3000);
        assert_eq!(free.count(), 220);
        let numbers = |run: Run| {
            assert!(run.count <= 50);
            (0..run.count).map(move |number| run.first / STEP + number)
        };
        let mut given: Vec<_> =
            std::iter::from_fn(|| free.take(LAST, 50)).flat_map(numbers).collect();
        given.sort_unstable();
        assert_eq!(given, (10..20).chain(100..300).chain(500..510).collect::<Vec<_>>());
        assert_eq!(free.count(), 0);
        // An ID before the place where the last search ended is found too.
        put(5..6);
        assert_eq!(free.take(LAST, 50), Some(Run { first: 5 * STEP, count: 1 }));
    }
}
