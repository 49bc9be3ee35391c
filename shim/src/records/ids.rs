//! The IDs of objects.
//!
//! An ID is a multiple of 16, starting at 16, because agents hash IDs by shifting them. It stays below 2^32 as
//! long as possible, because some agents keep IDs in 32 bits. It is kept in the object's JVMTI tag, with a bit
//! for each agent that got the announcement. No ID is used twice, unless the settings `ids=32bit` and `ids=reused` allow
//! it.

use super::numbered::Runs;
pub use super::tags::{Tag, possible_tags};
use jvm::lock::Lock;
use jvm::{Error, Result};
use jvmpi_settings::{Arenas, Ids};
use jvmpi_sys::jobjectID;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

/// The distance between two IDs.
const STEP: i64 = 16;

/// The limit of all IDs: they fit into a pointer, and into the bits that a tag has for the ID.
const END: i64 = if usize::BITS == 32 { 1 << 32 } else { 1 << 48 };

/// Returns the limit of all IDs. In builds with debug assertions, which tests use, the environment variable
/// `JVMPI_TEST_IDS` sets the number of IDs.
fn end() -> i64 {
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
struct Run {
    /// The first ID.
    first: i64,
    /// The number of IDs.
    count: i64,
}

static LAST: AtomicI64 = AtomicI64::new(0);

/// Returns the greatest ID that was ever taken.
pub fn last() -> i64 {
    LAST.load(Ordering::Relaxed)
}

/// Takes at most `most` new IDs; None if none are left.
fn take_new(most: i64) -> Option<Run> {
    let count = |last: i64| most.min((end() - last) / STEP - 1);
    let after = |last: i64| Some(last + count(last) * STEP).filter(|after| *after > last);
    let last = LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, after).ok()?;
    Some(Run { first: last + STEP, count: count(last) })
}

/// The number of IDs that were taken for a second time.
static TAKEN_AGAIN: AtomicI64 = AtomicI64::new(0);

/// Takes at most `most` IDs.
///
/// # Errors
/// If no IDs are left. The first time, a warning is logged.
fn take(most: i64) -> Result<Run> {
    let again = |run: Run| {
        TAKEN_AGAIN.fetch_add(run.count, Ordering::Relaxed);
        run
    };
    let free = || take_free(last(), most).map(again);
    let scarce = || take_scarce(most).map(again);
    free().or_else(|| take_new(most)).or_else(scarce).ok_or_else(|| {
        static IS_LOGGED: AtomicBool = AtomicBool::new(false);
        if !IS_LOGGED.swap(true, Ordering::Relaxed) {
            log::warn!(
                "no object IDs are left, {} objects have one: objects without an ID are not reported \
                 (arenas=copying uses the most, because it gives survivors new ones)",
                live()
            );
        }
        Error::NO_IDS
    })
}

/// Returns a tag with an ID that no living object has.
///
/// # Errors
/// If no IDs are left.
pub fn fresh() -> Result<Tag> {
    take(1).map(|run| Tag::of(run.first))
}

/// IDs of one thread, taken in batches so that threads seldom contend for them.
#[derive(Default)]
pub struct Supply {
    next: AtomicI64,
    end: AtomicI64,
}

/// The number of IDs that a thread takes at a time.
const BATCH: i64 = 1024;

impl Supply {
    /// Returns a tag with an ID that no living object has. Only the thread that owns the supply may call this.
    ///
    /// # Errors
    /// If no IDs are left.
    pub fn fresh(&self) -> Result<Tag> {
        let mut next = self.next.load(Ordering::Relaxed);
        let is_used_up = next == self.end.load(Ordering::Relaxed);
        if is_used_up || next <= EARLIER.load(Ordering::Relaxed) {
            self.abandon();
            let run = take(BATCH)?;
            next = run.first;
            self.end.store(next + run.count * STEP, Ordering::Relaxed);
        }
        self.next.store(next + STEP, Ordering::Relaxed);
        Ok(Tag::of(next))
    }

    /// Moves the remaining IDs to another supply of the current thread.
    pub fn hand_over(&self, to: &Self) {
        to.abandon();
        for (from, to) in [(&self.next, &to.next), (&self.end, &to.end)] {
            to.store(from.swap(0, Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// Stops counting the remaining IDs as live, and makes them available to other threads.
    fn abandon(&self) {
        let (first, end) =
            (self.next.swap(0, Ordering::Relaxed), self.end.swap(0, Ordering::Relaxed));
        let count = (end - first) / STEP;
        DIED.fetch_add(count, Ordering::Relaxed);
        are_unused(Run { first, count });
    }
}

impl Drop for Supply {
    fn drop(&mut self) {
        self.abandon();
    }
}

/// The last ID of earlier generations. If survivors get new IDs, all IDs up to this one belong to dead
/// objects, except those of classes and threads.
static EARLIER: AtomicI64 = AtomicI64::new(0);

/// Makes all new IDs greater than those already taken.
pub fn begin_generation() {
    EARLIER.store(last(), Ordering::Relaxed);
}

/// Returns true if the ID was taken before the last [`begin_generation`].
pub fn is_of_earlier_generation(tag: Tag) -> bool {
    tag.id().addr() as i64 <= EARLIER.load(Ordering::Relaxed)
}

/// The number of objects with an ID that have died, plus the IDs that were replaced.
static DIED: AtomicI64 = AtomicI64::new(0);

/// Records that an object with an ID is dead, or that its ID was replaced.
pub fn count_death() {
    DIED.fetch_add(1, Ordering::Relaxed);
}

/// Returns the number of live objects with an ID. IDs in threads' supplies count as live.
pub fn live() -> i64 {
    last() / STEP + TAKEN_AGAIN.load(Ordering::Relaxed) - DIED.load(Ordering::Relaxed)
}

/// Returns true if the ID was ever taken for an object.
pub fn was_given(id: jobjectID) -> bool {
    let id = id.addr() as i64;
    id > 0 && id % STEP == 0 && id <= last()
}

/// The limit of IDs of 32 bits.
const LIMIT: i64 = 1 << 32;
/// Reuse begins when 1/256 of these IDs is left. The rest is for use while no dead objects are known.
const RESERVE: i64 = 256;

/// The free IDs, divided by [`STEP`]. Between two runs lies an ID in use, so there are few runs if few objects live.
static FREE: Lock<Runs> = Lock::new(Runs::new());
/// True if there may be free IDs. Threads that need new ones seldom take the lock otherwise.
static IS_ANY_FREE: AtomicBool = AtomicBool::new(false);

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
fn take_free(last: i64, most: i64) -> Option<Run> {
    let is_due = match setting() {
        Ids::Unique | Ids::Reused => true,
        Ids::Bits32 => last >= limit() - limit() / RESERVE,
    };
    if is_due { take_scarce(most) } else { None }
}

/// Takes at most `most` free IDs, if there are any. Called when no new IDs are left.
fn take_scarce(most: i64) -> Option<Run> {
    if !IS_ANY_FREE.load(Ordering::Relaxed) {
        return None;
    }
    let mut free = FREE.lock();
    let run = free.take_some(most as usize);
    IS_ANY_FREE.store(run.is_some(), Ordering::Relaxed);
    run.map(|run| Run { first: run.start as i64 * STEP, count: run.len() as i64 })
}

/// Frees the ID of a dead object. All agents must have got its OBJECT_FREE.
pub fn is_dead(tag: Tag) {
    if setting() != Ids::Unique && tag != Tag::OWN {
        free(Run { first: tag.id().addr() as i64, count: 1 });
    }
}

/// Frees IDs that no object has got.
fn are_unused(ids: Run) {
    if jvmpi_settings::get().arenas != Arenas::Copying {
        free(ids);
    }
}

/// Frees these IDs. IDs above the limit are never reused.
fn free(ids: Run) {
    let first = ids.first / STEP;
    let end = (first + ids.count).min(limit() / STEP);
    if first < end {
        FREE.lock().put(first as usize..end as usize);
        IS_ANY_FREE.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_multiples_of_16_and_differ() {
        let (one, other) = (Supply::default(), Supply::default());
        let mut ids: Vec<_> = (0..3000)
            .flat_map(|_| [one.fresh(), other.fresh()])
            .map(|tag| tag.unwrap().id().addr())
            .collect();
        assert!(ids.iter().all(|id| *id >= 16 && id % 16 == 0));
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 6000);
    }
}
