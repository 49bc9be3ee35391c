//! IDs of dead objects are given again, with the settings `ids=32bit` and `ids=reused`.
//!
//! IDs are counted in pages of as many as a thread takes at a time. When all of a page's have been given and
//! their objects have died, the page is given again as a whole. So a thread comes here once in so many
//! objects.

use super::ids::{BATCH, STEP, Tag};
use crate::lock::Lock;
use options::{self, Arenas, Ids};
use std::collections::VecDeque;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU16, Ordering};

/// What IDs in 32 bits are below.
const LIMIT: i64 = 1 << 32;
/// How far below it the new IDs end: threads that ask at the same time may each get a batch.
const MARGIN: i64 = 1 << 24;

/// The pages of IDs below [`LIMIT`].
pub struct Pages {
    /// How many of each page's IDs are those of dead objects.
    dead: Box<[AtomicU16]>,
    /// Those of which all are, by their numbers; what has died first is given first.
    free: Lock<VecDeque<u32>>,
}

static PAGES: LazyLock<Pages> = LazyLock::new(|| Pages::below(LIMIT));

/// When IDs are given again. Survivors that get new IDs are told from the others by their age, so there
/// none is. Where pointers have 32 bits, IDs have no more.
fn setting() -> Ids {
    let options = options::get();
    match options.ids {
        _ if options.arenas == Arenas::Copying => Ids::Unique,
        Ids::Unique if usize::BITS == 32 => Ids::Bits32,
        ids => ids,
    }
}

/// A page to be given again, of which this is the first ID; `last` is the greatest ID that was given.
pub fn page(last: i64) -> Option<i64> {
    let is_due = match setting() {
        Ids::Unique => false,
        Ids::Reused => true,
        Ids::Bits32 => last >= LIMIT - MARGIN,
    };
    if is_due { PAGES.take() } else { None }
}

/// The object with this tag is dead, and all agents have been told.
pub fn is_free(tag: Tag) {
    if setting() != Ids::Unique && tag != Tag::OWN {
        PAGES.count(tag.id().addr() as i64);
    }
}

impl Pages {
    fn below(limit: i64) -> Self {
        let count = limit / (STEP * BATCH);
        Self {
            dead: (0..count).map(|_| AtomicU16::new(0)).collect(),
            free: Lock::new(VecDeque::new()),
        }
    }

    /// An ID is that of a dead object. Only one thread at a time tells of the dead.
    fn count(&self, id: i64) {
        let number = (id / STEP - 1) / BATCH;
        let Some(dead) = usize::try_from(number).ok().and_then(|page| self.dead.get(page)) else {
            return;
        };
        if dead.fetch_add(1, Ordering::Relaxed) + 1 == BATCH as u16 {
            dead.store(0, Ordering::Relaxed);
            self.free.lock().push_back(number as u32);
        }
    }

    fn take(&self) -> Option<i64> {
        let page = self.free.lock().pop_front()?;
        Some(i64::from(page) * BATCH * STEP + STEP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_given_again_when_all_of_it_is_free() {
        let pages = Pages::below(3 * BATCH * STEP);
        let ids = |page: i64| (1..=BATCH).map(move |number| (page * BATCH + number) * STEP);
        for _ in 0..2 {
            ids(1).take(BATCH as usize - 1).for_each(|id| pages.count(id));
            ids(0).for_each(|id| pages.count(id));
            assert_eq!((pages.take(), pages.take()), (ids(0).next(), None));
            pages.count(2 * BATCH * STEP);
            assert_eq!((pages.take(), pages.take()), (ids(1).next(), None));
        }
        // Those that do not fit into 32 bits are given once.
        ids(3).for_each(|id| pages.count(id));
        assert_eq!(pages.take(), None);
    }
}
