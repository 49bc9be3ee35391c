//! IDs that may be given and are not new: those that a thread has taken and not used, and, with the settings
//! `ids=32bit` and `ids=reused`, those of dead objects.

use super::id_range::{self, Run, STEP};
use super::object_tag::Tag;
use jvmpi_settings::{Arenas, Ids};
use std::ops::Range;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What IDs in 32 bits are below.
const LIMIT: i64 = 1 << 32;
/// The part of them that stays new when IDs of the dead begin to be given, for what is not yet known to be dead.
const RESERVE: i64 = 256;
/// Free IDs are looked for while there are as many as one to so many that were given. So a search comes by few
/// others for each that it finds.
const SCARCE: i64 = 64;

/// The bits of a word.
const BITS: usize = usize::BITS as usize;

/// The free ones of the IDs below a limit.
pub struct FreeIds {
    /// A bit for each ID.
    words: Box<[AtomicUsize]>,
    count: AtomicUsize,
    /// The word where the last search ended.
    place: AtomicUsize,
}

static FREE: LazyLock<FreeIds> = LazyLock::new(|| FreeIds::below(limit()));

fn limit() -> i64 {
    LIMIT.min(id_range::end())
}

/// When IDs are given again. Survivors that get new IDs are told from the others by their age, so there
/// none is. Where pointers have 32 bits, IDs have no more.
fn setting() -> Ids {
    let options = jvmpi_settings::get();
    match options.ids {
        _ if options.arenas == Arenas::Copying => Ids::Unique,
        Ids::Unique if usize::BITS == 32 => Ids::Bits32,
        ids => ids,
    }
}

/// At most so many free IDs, if they may be given now; `last` is the greatest that was given.
pub fn take(last: i64, most: i64) -> Option<Run> {
    let is_due = match setting() {
        Ids::Unique | Ids::Reused => true,
        Ids::Bits32 => last >= limit() - limit() / RESERVE,
    };
    if is_due && FREE.count() * SCARCE > last / STEP { FREE.take(last, most) } else { None }
}

/// At most so many free IDs, if there are any: there are no new ones any more.
pub fn take_scarce(last: i64, most: i64) -> Option<Run> {
    FREE.take(last, most)
}

/// The object with this tag is dead, and all agents have been told.
pub fn is_dead(tag: Tag) {
    if setting() != Ids::Unique && tag != Tag::OWN {
        FREE.put(Run { first: tag.id().addr() as i64, count: 1 });
    }
}

/// These were not given to any object.
pub fn are_unused(ids: Run) {
    if jvmpi_settings::get().arenas != Arenas::Copying {
        FREE.put(ids);
    }
}

impl FreeIds {
    fn below(limit: i64) -> Self {
        let words = (limit / STEP) as usize / BITS + 1;
        // Zeroed by the system: what is not used takes no memory.
        let words = Box::<[AtomicUsize]>::new_zeroed_slice(words);
        Self {
            // SAFETY: all bits 0 are the number 0.
            words: unsafe { words.assume_init() },
            count: AtomicUsize::new(0),
            place: AtomicUsize::new(0),
        }
    }

    fn count(&self) -> i64 {
        self.count.load(Ordering::Relaxed) as i64
    }

    /// These are free. Those above the limit are given once.
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

    /// At most so many IDs that were free, one after the other, of those up to the last that was given.
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

/// So many bits are set.
fn lowest(count: usize) -> usize {
    usize::MAX >> (BITS - count)
}

/// Clears the lowest bits that are set in one piece, at most so many, and tells which they were.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_free_is_given_once() {
        const LAST: i64 = 1000 * STEP;
        let free = FreeIds::below(LAST);
        let put = |numbers: Range<i64>| {
            let count = numbers.end - numbers.start;
            free.put(Run { first: numbers.start * STEP, count });
        };
        put(10..20);
        put(100..300);
        (500..510).for_each(|number| put(number..number + 1));
        // Those above the limit are none of them.
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
        // Behind the place where the last search ended, too.
        put(5..6);
        assert_eq!(free.take(LAST, 50), Some(Run { first: 5 * STEP, count: 1 }));
    }
}
