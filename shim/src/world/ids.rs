//! Objects' IDs.
//!
//! An ID is a multiple of 16 starting at 16, because agents hash IDs by shifting them, and stays
//! below 2^32 as long as such IDs last, because some agents keep them in 32 bits. It is kept in
//! the object's JVMTI tag, together with which agents the object was announced to. An ID is given once, unless
//! a [setting](ids_again) says otherwise.

use super::agents::{self, Agent};
use super::ids_again;
use super::tags::{self, Kind};
use jvmpi_sys::jobjectID;
use std::ptr;
use std::sync::atomic::{AtomicI64, Ordering};

/// What a JVMTI tag says of its object: the ID in the low 48 bits, above it whether the object
/// has survived into another arena, then the [kind](tags) of the tag, and in the topmost 8 bits the
/// agents to which it was announced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tag(i64);

const MOVED: i64 = 1 << 48;
const FIRST_AGENT: u32 = 56;

impl Tag {
    /// An object without an ID.
    pub const NONE: Self = Self(0);
    /// An object that the shim's own work has made, which is not announced unless an event names it: the
    /// JDK caches some such objects, and the program gets them too.
    pub const OWN: Self = Self(Kind::Object.bits() | 1 << 49);

    /// The tag of an object that gets this ID, and was not announced to any agent.
    fn of(id: i64) -> Self {
        Self(Kind::Object.tag(id))
    }

    /// A tag as JVMTI gives it.
    pub fn from_raw(tag: i64) -> Self {
        Self(tag)
    }

    /// The tag as JVMTI takes it.
    pub fn raw(self) -> i64 {
        self.0
    }

    /// The object's ID, NULL if it has none.
    pub fn id(self) -> jobjectID {
        ptr::without_provenance_mut(tags::value(self.0) as usize)
    }

    /// Whether the object was announced to the agent.
    pub fn is_announced_to(self, agent: &Agent) -> bool {
        self.0 & announced_bit(agent.index) != 0
    }

    /// The tag of the object once it is announced to the agent.
    pub fn announced_to(self, agent: &Agent) -> Self {
        Self(self.0 | announced_bit(agent.index))
    }

    /// The tag of the object that was not announced to the agent after all.
    pub fn not_announced_to(self, agent: &Agent) -> Self {
        Self(self.0 & !announced_bit(agent.index))
    }

    /// Whether the object has survived into another arena.
    pub fn has_moved(self) -> bool {
        self.0 & MOVED != 0
    }

    /// The tag of the object in the arena that it was allocated in, or in the other one.
    pub fn moved(self, moved: bool) -> Self {
        Self(if moved { self.0 | MOVED } else { self.0 & !MOVED })
    }

    /// The tag with another ID.
    pub fn renamed(self, id: Self) -> Self {
        Self(self.0 - tags::value(self.0) + tags::value(id.0))
    }
}

fn announced_bit(agent: usize) -> i64 {
    1 << (FIRST_AGENT + agent as u32)
}

/// How far apart IDs are.
pub const STEP: i64 = 16;

static LAST: AtomicI64 = AtomicI64::new(0);

/// Takes `count` new IDs at once, and returns the first. The others follow in steps of 16.
fn reserve(count: i64) -> i64 {
    LAST.fetch_add(count * STEP, Ordering::Relaxed) + STEP
}

/// How many IDs were given for a second time.
static GIVEN_AGAIN: AtomicI64 = AtomicI64::new(0);

/// Takes as many IDs, of dead objects if the settings want that.
fn reserve_batch() -> i64 {
    let again = ids_again::page(LAST.load(Ordering::Relaxed));
    if again.is_some() {
        GIVEN_AGAIN.fetch_add(BATCH, Ordering::Relaxed);
    }
    again.unwrap_or_else(|| reserve(BATCH))
}

/// A tag with an ID that no living object has.
pub fn fresh() -> Tag {
    Tag::of(reserve(1))
}

/// New IDs of one thread, taken in batches so that threads seldom contend for the counter.
#[derive(Default)]
pub struct Supply {
    next: AtomicI64,
    end: AtomicI64,
}

/// How many IDs a thread takes at a time.
pub const BATCH: i64 = 1024;

impl Supply {
    /// A tag with an ID that no living object has. Only the thread that owns the supply may
    /// call this.
    pub fn fresh(&self) -> Tag {
        let mut next = self.next.load(Ordering::Relaxed);
        let is_used_up = next == self.end.load(Ordering::Relaxed);
        if is_used_up || next <= EARLIER.load(Ordering::Relaxed) {
            next = reserve_batch();
            self.end.store(next + BATCH * STEP, Ordering::Relaxed);
        }
        self.next.store(next + STEP, Ordering::Relaxed);
        Tag::of(next)
    }

    /// Leaves the IDs that are left to another one of the current thread.
    pub fn hand_over(&self, to: &Self) {
        for (from, to) in [(&self.next, &to.next), (&self.end, &to.end)] {
            to.store(from.swap(0, Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// Discards the IDs that are left; they do not count as live any more.
    pub fn give_up(&self) {
        let left = self.end.load(Ordering::Relaxed) - self.next.load(Ordering::Relaxed);
        self.end.store(self.next.load(Ordering::Relaxed), Ordering::Relaxed);
        DIED.fetch_add(left / STEP, Ordering::Relaxed);
    }
}

/// The last ID of earlier generations: where survivors get new IDs, all IDs up to this one are those of
/// dead objects, but for classes and threads.
static EARLIER: AtomicI64 = AtomicI64::new(0);

/// From now on new IDs are greater than all that have been given.
pub fn begin_generation() {
    EARLIER.store(LAST.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// Whether the ID was given before the last [`begin_generation`].
pub fn is_of_earlier_generation(tag: Tag) -> bool {
    tag.id().addr() as i64 <= EARLIER.load(Ordering::Relaxed)
}

/// How many objects with an ID have died, IDs that were replaced included.
static DIED: AtomicI64 = AtomicI64::new(0);

/// Takes note that an object with an ID is gone.
pub fn count_death() {
    DIED.fetch_add(1, Ordering::Relaxed);
}

/// How many live objects have an ID. IDs that threads keep in supply count as live.
pub fn live() -> i64 {
    LAST.load(Ordering::Relaxed) / STEP + GIVEN_AGAIN.load(Ordering::Relaxed)
        - DIED.load(Ordering::Relaxed)
}

/// Whether the ID was ever given to an object.
pub fn was_given(id: jobjectID) -> bool {
    let id = id.addr() as i64;
    id > 0 && id % STEP == 0 && id <= LAST.load(Ordering::Relaxed)
}

/// All tags that an object with this ID may have.
pub fn possible_tags(id: jobjectID) -> Vec<i64> {
    let agents = agents::all().len();
    let tag = Tag::of(id.addr() as i64).raw();
    let announced = (0..1_i64 << agents).map(|mask| mask << FIRST_AGENT);
    announced.flat_map(|announced| [0, MOVED].map(|moved| tag | announced | moved)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_multiples_of_16_and_differ() {
        let (one, other) = (Supply::default(), Supply::default());
        let mut ids: Vec<_> = (0..3000)
            .flat_map(|_| [one.fresh(), other.fresh()])
            .map(|tag| tag.id().addr())
            .collect();
        assert!(ids.iter().all(|id| *id >= 16 && id % 16 == 0));
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 6000);
    }

    #[test]
    fn what_a_tag_says_besides_leaves_the_id_alone() {
        let tag = Tag::of(0x1230);
        let agent = agents::get(7);
        let changed = tag.announced_to(agent).moved(true);
        assert_eq!(
            (changed.id(), changed.is_announced_to(agent), changed.has_moved()),
            (tag.id(), true, true)
        );
        assert!(!changed.is_announced_to(agents::get(0)));
        assert!(!changed.not_announced_to(agent).is_announced_to(agent));
        let renamed = changed.renamed(Tag::of(0x4560));
        assert_eq!((renamed.id().addr(), renamed.is_announced_to(agent)), (0x4560, true));
    }
}
