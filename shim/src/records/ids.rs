//! The IDs of objects, and the JVMTI tags that hold them.
//!
//! An ID is a multiple of 16, starting at 16, because agents hash IDs by shifting them. It stays below 2^32 as
//! long as possible, because some agents keep IDs in 32 bits. It is kept in the object's JVMTI tag, with a bit
//! for each agent that got the announcement. No ID is used twice, unless the settings `ids=32bit` and `ids=reused` allow
//! it.
//!
//! The environment that gets the report of a dead object does not show the meaning of its tag. A walk
//! through the heap finds the dead of all environments, also of other tools, and the VM reports them
//! to the walking environment (seen on JDK 21 and 25). So bits of a tag distinguish its kind.

use super::agents::{self, Agent};
use super::numbered::Runs;
use jni_sys::jobject;
use jvm::lock::Lock;
use jvm::{Error, Result};
use jvmpi_settings::{Arenas, Ids};
use jvmpi_sys::jobjectID;
use std::ops::Range;
use std::ptr;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

/// The kind of thing for which a tag of the shim stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// An object with an ID, or one of the shim's own ([`Tag`]).
    Object,
    /// A class; the value is the address of its record (`classes`).
    Class,
    /// An object whose death shows a collection (`gc::deaths`).
    Sentinel,
}

/// The bits of the kind. They are 0 in addresses and small numbers, which other tools use as tags.
const KIND: i64 = 0b11_1111 << 50;
/// The bits of the value: an ID, an address or a number.
const VALUE: i64 = (1 << 48) - 1;

impl Kind {
    pub const fn bits(self) -> i64 {
        let bits = match self {
            Self::Object => 0b10_0101,
            Self::Class => 0b10_0110,
            Self::Sentinel => 0b10_1001,
        };
        bits << 50
    }

    /// Returns the tag of this kind with a value of up to 48 bits.
    pub const fn tag(self, value: i64) -> i64 {
        assert!(value & !VALUE == 0, "no ID and no address is as large");
        value | self.bits()
    }

    /// Returns the kind of a tag; None if it is not one of the shim's.
    pub fn of(tag: i64) -> Option<Self> {
        [Self::Object, Self::Class, Self::Sentinel]
            .into_iter()
            .find(|kind| tag & KIND == kind.bits())
    }
}

pub const fn value(tag: i64) -> i64 {
    tag & VALUE
}

/// The JVMTI tag of an object. The low 48 bits are its ID. The next bit is set if the object has
/// survived into another arena. Then come the [kind](Kind) of the tag and, in the topmost 8 bits, the
/// agents that got the announcement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tag(i64);

const MOVED: i64 = 1 << 48;
const FIRST_AGENT: u32 = 56;

impl Tag {
    /// The tag of an object without an ID.
    pub const NONE: Self = Self(0);
    /// The tag of an object that the shim's own work has created. It is not announced unless an event
    /// names it: the JDK caches some such objects, so the program gets them too.
    pub const OWN: Self = Self(Kind::Object.bits() | 1 << 49);

    /// Returns the tag of an object that gets this ID and was not announced to any agent.
    fn of(id: i64) -> Self {
        Self(Kind::Object.tag(id))
    }

    pub fn from_raw(tag: i64) -> Self {
        Self(tag)
    }

    pub fn raw(self) -> i64 {
        self.0
    }

    /// Returns the object's ID, NULL if it has none.
    pub fn id(self) -> jobjectID {
        ptr::without_provenance_mut(value(self.0) as usize)
    }

    /// Returns true if the object was announced to the agent.
    pub fn is_announced_to(self, agent: &Agent) -> bool {
        self.0 & announced_bit(agent.index) != 0
    }

    /// Returns the tag after the object was announced to the agent.
    pub fn announced_to(self, agent: &Agent) -> Self {
        Self(self.0 | announced_bit(agent.index))
    }

    /// Returns the tag of an object that was not announced to the agent after all.
    pub fn not_announced_to(self, agent: &Agent) -> Self {
        Self(self.0 & !announced_bit(agent.index))
    }

    /// Returns true if the object has survived into another arena.
    pub fn has_moved(self) -> bool {
        self.0 & MOVED != 0
    }

    /// Returns the tag of the object in the arena of its allocation, or in the other one if `moved`.
    pub fn moved(self, moved: bool) -> Self {
        Self(if moved { self.0 | MOVED } else { self.0 & !MOVED })
    }

    /// Returns the tag with another ID.
    pub fn renamed(self, id: Self) -> Self {
        Self(self.0 - value(self.0) + value(id.0))
    }
}

/// Returns the tag of an object, [`Tag::NONE`] for NULL.
pub fn tag(object: jobject) -> Result<Tag> {
    if object.is_null() { Ok(Tag::NONE) } else { jvm::get().jvmti.tag(object).map(Tag::from_raw) }
}

fn announced_bit(agent: usize) -> i64 {
    1 << (FIRST_AGENT + agent as u32)
}

/// Returns all tags that an object with this ID may have.
pub fn possible_tags(id: jobjectID) -> Vec<i64> {
    let agents = agents::all().len();
    let tag = Tag::of(id.addr() as i64).raw();
    let announced = (0..1_i64 << agents).map(|mask| mask << FIRST_AGENT);
    announced.flat_map(|announced| [0, MOVED].map(|moved| tag | announced | moved)).collect()
}

/// The distance between two IDs.
const STEP: i64 = 16;

/// The limit of all IDs: they fit into a pointer, and into the bits that a tag has for the ID.
const END: i64 = if usize::BITS == 32 { 1 << 32 } else { 1 << 48 };

/// Returns the limit of all IDs. In builds with debug assertions, which tests use, the environment variable
/// `JVMPI_TEST_IDS` sets the number of IDs.
fn end() -> i64 {
    static FEW: LazyLock<Option<i64>> = LazyLock::new(|| {
        let count: i64 = std::env::var("JVMPI_TEST_IDS").ok()?.parse().ok()?;
        Some((count + 1) * STEP)
    });
    if cfg!(debug_assertions) { FEW.unwrap_or(END) } else { END }
}

/// IDs that follow each other, divided by [`STEP`].
type Run = Range<i64>;

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
    let first = last / STEP + 1;
    Some(first..first + count(last))
}

/// The number of IDs that were taken for a second time.
static TAKEN_AGAIN: AtomicI64 = AtomicI64::new(0);

/// Takes at most `most` IDs.
///
/// # Errors
/// If no IDs are left. The first time, a warning is logged.
fn take(most: i64) -> Result<Run> {
    let again = |run: &Run| _ = TAKEN_AGAIN.fetch_add(run.end - run.start, Ordering::Relaxed);
    let free = || take_free(last(), most).inspect(again);
    let scarce = || take_scarce(most).inspect(again);
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
    take(1).map(|run| Tag::of(run.start * STEP))
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
            next = run.start * STEP;
            self.end.store(run.end * STEP, Ordering::Relaxed);
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
        let take = |place: &AtomicI64| place.swap(0, Ordering::Relaxed) / STEP;
        let unused = take(&self.next)..take(&self.end);
        DIED.fetch_add(unused.end - unused.start, Ordering::Relaxed);
        // With survivors that get new IDs, no ID is reused.
        if jvmpi_settings::get().arenas != Arenas::Copying {
            free(unused);
        }
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
    run.map(|run| run.start as i64..run.end as i64)
}

/// Frees the ID of a dead object. All agents must have got its OBJECT_FREE.
pub fn is_dead(tag: Tag) {
    if setting() != Ids::Unique && tag != Tag::OWN {
        let number = tag.id().addr() as i64 / STEP;
        free(number..number + 1);
    }
}

/// Frees these IDs. IDs above the limit are never reused.
fn free(ids: Run) {
    let end = ids.end.min(limit() / STEP);
    if ids.start < end {
        FREE.lock().put(ids.start as usize..end as usize);
        IS_ANY_FREE.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_distinguished_and_from_other_tools_tags() {
        for kind in [Kind::Object, Kind::Class, Kind::Sentinel] {
            for at in [16, 0x7fff_ffff_fff0, VALUE] {
                let tag = kind.tag(at);
                assert_eq!((Kind::of(tag), value(tag)), (Some(kind), at));
                // The other bits of an object's tag.
                assert_eq!(Kind::of(tag | 0xff << 56 | 0b11 << 48), Some(kind));
            }
        }
        for tag in [0, 1, 16, -1, 0x7fff_ffff_fff0, i64::MAX, i64::MIN] {
            assert_eq!(Kind::of(tag), None, "{tag:#x}");
        }
    }

    #[test]
    fn other_bits_of_a_tag_do_not_change_the_id() {
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
