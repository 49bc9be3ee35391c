//! The JVMTI tags that the shim sets. Bits distinguish their kinds; the tag of an object holds its ID.
//!
//! The environment that gets the report of a dead object does not show the meaning of its tag. A walk
//! through the heap finds the dead of all environments, also of other tools, and the VM reports them
//! to the walking environment (seen on JDK 21 and 25).

use super::agents::{self, Agent};
use jvmpi_sys::jobjectID;
use std::ptr;

/// The kind of thing for which a tag of the shim stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// An object with an ID, or one of the shim's own (`ids::Tag`).
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

/// Returns the value of a tag.
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
