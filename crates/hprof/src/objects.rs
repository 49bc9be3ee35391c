//! The live objects, each with its site, size and arena.
//!
//! IDs are assigned in consecutive runs, so the table has pages of consecutive IDs with eight
//! bytes each. A thread keeps the page of its last write, so allocating threads do not contend.

use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The distance between object IDs.
const STEP: u64 = 16;
/// The number of objects in a page.
const PAGE: u64 = 1024;

/// All objects that are known to be live. A copy shares their pages.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    pages: FxHashMap<u64, Arc<Page>>,
}

/// The record of a live object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Object {
    /// The site that it was allocated at, below 2^26.
    pub site: u32,
    /// The size in bytes.
    pub size: u64,
    /// The low bits of its arena's number: few arenas exist at a time.
    pub arena: u8,
    /// True if it is not among the counted objects: allocations are sampled, and it is not a sample.
    pub is_extra: bool,
}

/// The page of a thread's last object.
#[derive(Debug, Default)]
pub struct Cursor {
    at: Option<(u64, Arc<Page>)>,
}

/// The objects of consecutive IDs.
#[derive(Debug)]
pub struct Page {
    /// The packed objects ([`Object::pack`]); 0 for none.
    objects: [AtomicU64; PAGE as usize],
}

impl Object {
    /// Packs the object into a number. Sizes are multiples of eight; those above 2^31 do not occur.
    fn pack(self) -> u64 {
        let size = self.size.div_ceil(8).min((1 << 28) - 1);
        1 << 63
            | u64::from(self.is_extra) << 62
            | u64::from(self.site) << 36
            | u64::from(self.arena) << 28
            | size
    }

    fn unpack(packed: u64) -> Option<Self> {
        (packed != 0).then_some(Self {
            site: (packed >> 36) as u32 & ((1 << 26) - 1),
            size: (packed & ((1 << 28) - 1)) * 8,
            arena: (packed >> 28) as u8,
            is_extra: packed >> 62 & 1 != 0,
        })
    }
}

/// Returns the page of an ID, and the index in it.
fn place(id: u64) -> (u64, usize) {
    let number = id / STEP;
    (number / PAGE, (number % PAGE) as usize)
}

impl Cursor {
    /// Adds an object. Returns the previous one with this ID. `page` is called for [`Objects::page`].
    #[inline]
    pub fn insert(
        &mut self,
        id: u64,
        object: Object,
        page: impl FnOnce(u64) -> Arc<Page>,
    ) -> Option<Object> {
        let (number, index) = place(id);
        if self.at.as_ref().is_none_or(|at| at.0 != number) {
            self.at = Some((number, page(number)));
        }
        let (_, page) = self.at.as_ref()?;
        Object::unpack(page.objects[index].swap(object.pack(), Ordering::Relaxed))
    }
}

impl Objects {
    /// Returns the page of this number, which is added if it is new.
    pub fn page(&mut self, number: u64) -> Arc<Page> {
        Arc::clone(self.pages.entry(number).or_default())
    }

    /// Adds an object. Returns the previous one with this ID.
    pub fn insert(&mut self, id: u64, object: Object) -> Option<Object> {
        let (number, index) = place(id);
        let page = self.pages.entry(number).or_default();
        Object::unpack(page.objects[index].swap(object.pack(), Ordering::Relaxed))
    }

    /// Returns the record of an object.
    pub fn get(&self, id: u64) -> Option<Object> {
        let (number, index) = place(id);
        Object::unpack(self.pages.get(&number)?.objects[index].load(Ordering::Relaxed))
    }

    /// Removes an object and returns it.
    pub fn remove(&self, id: u64) -> Option<Object> {
        let (number, index) = place(id);
        Object::unpack(self.pages.get(&number)?.objects[index].swap(0, Ordering::Relaxed))
    }

    /// Removes the remaining objects of an arena, and passes them to `dead`.
    pub fn remove_arena(&self, arena: u8, mut dead: impl FnMut(Object)) {
        for object in self.pages.values().flat_map(|page| &page.objects) {
            let found = Object::unpack(object.load(Ordering::Relaxed));
            if let Some(found) = found.filter(|found| found.arena == arena) {
                object.store(0, Ordering::Relaxed);
                dead(found);
            }
        }
    }

    /// Frees pages without objects. An ID is not used twice, so most pages are never needed again.
    pub fn shrink(&mut self) {
        // No thread writes to a page that only the table owns.
        self.pages.retain(|_, page| Arc::strong_count(page) > 1 || !page.is_empty());
    }
}

impl Page {
    fn is_empty(&self) -> bool {
        self.objects.iter().all(|object| object.load(Ordering::Relaxed) == 0)
    }
}

impl Default for Page {
    fn default() -> Self {
        Self { objects: [const { AtomicU64::new(0) }; PAGE as usize] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(site: u32) -> Object {
        Object { site, size: 24, arena: 1, is_extra: false }
    }

    #[test]
    fn an_object_is_what_it_was_packed_from() {
        for object in [
            Object { site: 0, size: 0, arena: 0, is_extra: false },
            Object { site: 1, size: 16, arena: 1, is_extra: true },
            Object { site: (1 << 26) - 1, size: (1 << 31) - 8, arena: 255, is_extra: true },
        ] {
            assert_eq!(Object::unpack(object.pack()), Some(object));
        }
        assert_eq!(Object::unpack(0), None);
        let odd = Object { size: 17, ..object(1) };
        assert_eq!(Object::unpack(odd.pack()).unwrap().size, 24);
    }

    #[test]
    fn objects_are_found_until_they_are_removed() {
        let (mut objects, mut cursor) = (Objects::default(), Cursor::default());
        for number in 1..5000 {
            let page = |number| objects.page(number);
            assert_eq!(cursor.insert(number * STEP, object(number as u32), page), None);
        }
        assert_eq!(objects.insert(16, object(7)), Some(object(1)));
        assert_eq!(objects.get(16), Some(object(7)));
        assert_eq!(objects.get(4999 * STEP), Some(object(4999)));
        assert_eq!(objects.get(5000 * STEP), None);
        assert_eq!(objects.get(1 << 60), None);
        assert_eq!(objects.remove(160), Some(object(10)));
        assert_eq!(objects.remove(160), None);
        assert_eq!(objects.get(160), None);
    }

    #[test]
    fn an_arena_dies_with_what_is_in_it() {
        let mut objects = Objects::default();
        for number in 1..3000 {
            let arena = (number % 3) as u8;
            objects.insert(number * STEP, Object { arena, ..object(number as u32) });
        }
        let mut dead = Vec::new();
        objects.remove_arena(2, |object| dead.push(object.site));
        dead.sort_unstable();
        assert_eq!(dead, (2..3000).step_by(3).collect::<Vec<_>>());
        assert_eq!(objects.get(2 * STEP), None);
        assert!(objects.get(3 * STEP).is_some());
    }

    #[test]
    fn pages_without_objects_are_given_back_unless_a_thread_is_at_them() {
        let (mut objects, mut cursor) = (Objects::default(), Cursor::default());
        for number in 0..3 * PAGE {
            cursor.insert(number * STEP, object(1), |number| objects.page(number));
        }
        for number in 0..3 * PAGE {
            objects.remove(number * STEP);
            if number == PAGE {
                objects.shrink();
                assert_eq!(objects.pages.len(), 2);
            }
        }
        objects.shrink();
        assert_eq!(objects.pages.len(), 1);
        drop(cursor);
        objects.shrink();
        assert_eq!(objects.pages.len(), 0);
    }
}
