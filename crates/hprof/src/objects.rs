//! The live objects: of which site each is, how large it is and in which arena it lies.
//!
//! IDs are given in rows, so the table has pages of consecutive IDs, with eight bytes for each. A thread
//! keeps hold of the page in which it has written last, so that threads which allocate do not meet.

use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How far apart object IDs are.
const STEP: u64 = 16;
/// How many objects a page has.
const PAGE: u64 = 1024;

/// All objects that are known to live. A copy shares their pages.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    pages: FxHashMap<u64, Arc<Page>>,
}

/// What is known of a live object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Object {
    /// The site that it was allocated at, below 2^27.
    pub site: u32,
    /// How many bytes it has.
    pub size: u64,
    /// The low bits of its arena's number: few arenas exist at a time.
    pub arena: u8,
}

/// Where the last object of a thread was written.
#[derive(Debug, Default)]
pub struct Cursor {
    at: Option<(u64, Arc<Page>)>,
}

/// A row of IDs and their objects.
#[derive(Debug)]
pub struct Page {
    /// [`Object::pack`]; 0 if there is none.
    objects: [AtomicU64; PAGE as usize],
}

impl Object {
    /// Sizes are multiples of eight; what is larger than 2^31 does not occur.
    fn pack(self) -> u64 {
        let size = self.size.div_ceil(8).min((1 << 28) - 1);
        1 << 63 | u64::from(self.site) << 36 | u64::from(self.arena) << 28 | size
    }

    fn unpack(packed: u64) -> Option<Self> {
        (packed != 0).then_some(Self {
            site: (packed >> 36) as u32 & ((1 << 27) - 1),
            size: (packed & ((1 << 28) - 1)) * 8,
            arena: (packed >> 28) as u8,
        })
    }
}

/// The page of an ID, and the place in it.
fn place(id: u64) -> (u64, usize) {
    let number = id / STEP;
    (number / PAGE, (number % PAGE) as usize)
}

impl Cursor {
    /// Adds an object; what was known of this ID before. `page` gets [`Objects::page`].
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
    /// The page of this number, which is added if there is none.
    pub fn page(&mut self, number: u64) -> Arc<Page> {
        Arc::clone(self.pages.entry(number).or_default())
    }

    /// Adds an object; what was known of this ID before.
    pub fn insert(&mut self, id: u64, object: Object) -> Option<Object> {
        let (number, index) = place(id);
        let page = self.pages.entry(number).or_default();
        Object::unpack(page.objects[index].swap(object.pack(), Ordering::Relaxed))
    }

    /// What is known of an object.
    pub fn get(&self, id: u64) -> Option<Object> {
        let (number, index) = place(id);
        Object::unpack(self.pages.get(&number)?.objects[index].load(Ordering::Relaxed))
    }

    /// Takes an object out.
    pub fn remove(&self, id: u64) -> Option<Object> {
        let (number, index) = place(id);
        Object::unpack(self.pages.get(&number)?.objects[index].swap(0, Ordering::Relaxed))
    }

    /// Takes out what is left in an arena, and passes it to `dead`.
    pub fn remove_arena(&self, arena: u8, mut dead: impl FnMut(Object)) {
        for object in self.pages.values().flat_map(|page| &page.objects) {
            let found = Object::unpack(object.load(Ordering::Relaxed));
            if let Some(found) = found.filter(|found| found.arena == arena) {
                object.store(0, Ordering::Relaxed);
                dead(found);
            }
        }
    }

    /// Gives back the memory of pages without objects. An ID is not given twice, so most never come again.
    pub fn shrink(&mut self) {
        // A page that only the table holds is one that no thread writes in.
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
        Object { site, size: 24, arena: 1 }
    }

    #[test]
    fn an_object_is_what_it_was_packed_from() {
        for object in [
            Object { site: 0, size: 0, arena: 0 },
            Object { site: 1, size: 16, arena: 1 },
            Object { site: (1 << 27) - 1, size: (1 << 31) - 8, arena: 255 },
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
