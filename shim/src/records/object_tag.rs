//! The JVMTI tag of an object, which holds its ID.

use super::agents::{self, Agent};
use super::tags::{self, Kind};
use jvmpi_sys::jobjectID;
use std::ptr;

/// The JVMTI tag of an object. The low 48 bits are its ID. The next bit is set if the object has
/// survived into another arena. Then come the [kind](tags) of the tag and, in the topmost 8 bits, the
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
    pub(super) fn of(id: i64) -> Self {
        Self(Kind::Object.tag(id))
    }

    /// Converts a tag from JVMTI.
    pub fn from_raw(tag: i64) -> Self {
        Self(tag)
    }

    /// Returns the tag for JVMTI.
    pub fn raw(self) -> i64 {
        self.0
    }

    /// Returns the object's ID, NULL if it has none.
    pub fn id(self) -> jobjectID {
        ptr::without_provenance_mut(tags::value(self.0) as usize)
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
        Self(self.0 - tags::value(self.0) + tags::value(id.0))
    }
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

#[cfg(test)]
mod tests {
    use super::*;

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
