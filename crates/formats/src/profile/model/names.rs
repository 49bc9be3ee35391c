//! Each name once.

use super::NameId;
use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

/// The names of classes, methods, fields, threads and whatever else a profile names. The empty name is
/// always there.
#[derive(Clone, Debug)]
pub struct Names(IndexSet<Box<str>, FxBuildHasher>);

impl NameId {
    /// The empty name.
    pub const EMPTY: Self = Self(0);
}

impl Default for Names {
    fn default() -> Self {
        Self(IndexSet::from_iter(["".into()]))
    }
}

impl Names {
    /// Returns the ID of `name`, which is added if it is new.
    pub fn intern(&mut self, name: &str) -> NameId {
        let index = match self.0.get_index_of(name) {
            Some(index) => index,
            None => self.0.insert_full(name.into()).0,
        };
        NameId(index as u32)
    }

    /// Returns the ID of `name` if it was added.
    pub fn find(&self, name: &str) -> Option<NameId> {
        self.0.get_index_of(name).map(|index| NameId(index as u32))
    }

    /// Returns the name with this ID; empty if there is none.
    pub fn get(&self, id: NameId) -> &str {
        self.0.get_index(id.0 as usize).map_or("", |name| name)
    }

    /// Returns all names in the order of their IDs.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.iter().map(|name| &**name)
    }

    /// Returns the number of names.
    #[allow(clippy::len_without_is_empty, reason = "the empty name is always there")]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}
