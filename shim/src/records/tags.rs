//! The kinds of JVMTI tags that the shim sets, distinguished by their bits.
//!
//! The environment that gets the report of a dead object does not show the meaning of its tag. A walk
//! through the heap finds the dead of all environments, also of other tools, and the VM reports them
//! to the walking environment (seen on JDK 21 and 25).

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
}
