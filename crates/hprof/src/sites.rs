//! Allocation sites: the class and trace of allocated objects, and the number of live ones.
//!
//! Each thread counts its own allocations. Dead objects are counted for all threads together, by the
//! thread that receives the event. Live amounts are allocated minus dead amounts.

use crate::mutex::lock;
use crate::weights::Tally;
use hashbrown::HashTable;
use indexmap::IndexSet;
use jvmpi_formats::profile::{ClassSerial, TraceSerial, Type};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// The key of a site: the class and the trace of allocated objects.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SiteKey {
    /// The class; for an array of references, the class of the elements.
    pub class: ClassSerial,
    /// The type of the elements, for an array.
    pub array_of: Option<Type>,
    /// The trace of the allocation.
    pub trace: TraceSerial,
}

/// All sites, each with a number.
#[derive(Debug, Default)]
pub struct Sites(Mutex<IndexSet<SiteKey, FxBuildHasher>>);

impl Sites {
    /// Returns the number of a site, which is added if it is new.
    pub fn number(&self, key: SiteKey) -> u32 {
        self.keys().insert_full(key).0 as u32
    }

    /// Returns the number of sites.
    pub fn count(&self) -> usize {
        self.keys().len()
    }

    /// Returns all sites, in the order of their numbers.
    pub fn all(&self) -> Vec<SiteKey> {
        self.keys().iter().copied().collect()
    }

    /// Returns the site with this number.
    pub fn key(&self, site: u32) -> Option<SiteKey> {
        self.keys().get_index(site as usize).copied()
    }

    fn keys(&self) -> MutexGuard<'_, IndexSet<SiteKey, FxBuildHasher>> {
        lock(&self.0)
    }
}

/// The amount that one thread has allocated at a site.
#[derive(Debug)]
pub struct Allocated {
    site: u32,
    parts: AtomicU64,
    bytes: AtomicU64,
}

impl Allocated {
    fn add(&self, more: Tally) {
        // Only the thread itself writes, so no update is lost.
        let add =
            |to: &AtomicU64, more| to.store(to.load(Ordering::Relaxed) + more, Ordering::Relaxed);
        add(&self.parts, more.parts);
        add(&self.bytes, more.bytes);
    }
}

/// The allocations of a thread, for the threads that write dumps.
#[derive(Debug, Default)]
pub struct Counts(Mutex<Vec<Arc<Allocated>>>);

impl Counts {
    /// Adds the amounts to those of other threads.
    pub fn add_to(&self, all: &mut FxHashMap<u32, Tally>) {
        for one in lock(&self.0).iter() {
            all.entry(one.site).or_default().add(Tally {
                parts: one.parts.load(Ordering::Relaxed),
                bytes: one.bytes.load(Ordering::Relaxed),
            });
        }
    }
}

/// A thread's table of its allocation sites. `F` is a frame as the VM reports it.
#[derive(Debug)]
pub struct Allocations<F> {
    /// Entries by the data of the event.
    known: HashTable<Symbols<F>>,
    by_site: FxHashMap<u32, Arc<Allocated>>,
    shared: Arc<Counts>,
}

#[derive(Debug)]
struct Symbols<F> {
    class: usize,
    array_of: u8,
    frames: Box<[F]>,
    counts: Arc<Allocated>,
}

impl<F> Default for Allocations<F> {
    fn default() -> Self {
        Self { known: HashTable::new(), by_site: FxHashMap::default(), shared: Arc::default() }
    }
}

impl<F: Copy + Eq + Hash> Allocations<F> {
    /// Returns the counts, for the threads that write dumps.
    pub fn counts(&self) -> Arc<Counts> {
        Arc::clone(&self.shared)
    }

    /// Counts an object with its weight and returns its site. `number` returns the site of a new combination of class,
    /// element code and frames.
    #[inline]
    pub fn count(
        &mut self,
        class: usize,
        array_of: u8,
        frames: &[F],
        tally: Tally,
        number: impl FnOnce() -> u32,
    ) -> u32 {
        let hash = hash(class, array_of, frames);
        let is_it = |known: &Symbols<F>| {
            known.class == class && known.array_of == array_of && *known.frames == *frames
        };
        if let Some(known) = self.known.find(hash, is_it) {
            known.counts.add(tally);
            return known.counts.site;
        }
        let site = number();
        let fresh = || {
            let (parts, bytes) = (AtomicU64::new(0), AtomicU64::new(0));
            let counts = Arc::new(Allocated { site, parts, bytes });
            let shared = Arc::clone(&counts);
            lock(&self.shared.0).push(shared);
            counts
        };
        let counts = Arc::clone(self.by_site.entry(site).or_insert_with(fresh));
        counts.add(tally);
        let known = Symbols { class, array_of, frames: frames.into(), counts };
        self.known.insert_unique(hash, known, |known| {
            self::hash(known.class, known.array_of, &known.frames)
        });
        site
    }

    /// Forgets the methods of `jmethodID`s: a class was unloaded, and the VM may reuse its IDs.
    pub fn forget_methods(&mut self) {
        self.known.clear();
    }
}

#[inline]
fn hash<F: Hash>(class: usize, array_of: u8, frames: &[F]) -> u64 {
    let mut hasher = FxHasher::default();
    (class, array_of, frames).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(trace: u32) -> SiteKey {
        SiteKey { class: ClassSerial(1), array_of: None, trace: TraceSerial(trace) }
    }

    fn tally(parts: u64, bytes: u64) -> Tally {
        Tally { parts, bytes }
    }

    #[test]
    fn threads_count_for_themselves_and_are_added_up() {
        let sites = Sites::default();
        let mut threads = [Allocations::default(), Allocations::default()];
        for (thread, trace, size) in [(0, 5, 16), (1, 5, 24), (0, 5, 16), (1, 6, 8)] {
            let number = || sites.number(key(trace));
            threads[thread].count(3, 0, &[(trace, 1)], tally(10, size), number);
        }
        let mut all = FxHashMap::default();
        threads.iter().for_each(|thread| thread.counts().add_to(&mut all));
        assert_eq!(all, FxHashMap::from_iter([(0, tally(30, 56)), (1, tally(10, 8))]));
        assert_eq!((sites.key(0), sites.key(1)), (Some(key(5)), Some(key(6))));
        assert_eq!((sites.key(2), sites.count()), (None, 2));
    }

    #[test]
    fn a_site_is_looked_for_once_until_methods_are_forgotten() {
        let mut thread = Allocations::default();
        let mut asked = 0;
        for round in 0..4 {
            if round == 2 {
                thread.forget_methods();
            }
            for (class, array_of, frames) in
                [(1, 0, [(1, 1)]), (2, 0, [(1, 1)]), (1, 2, [(1, 1)]), (1, 0, [(1, 2)])]
            {
                thread.count(class, array_of, &frames, tally(1, 8), || {
                    asked += 1;
                    9
                });
            }
        }
        assert_eq!(asked, 8);
        let mut all = FxHashMap::default();
        thread.counts().add_to(&mut all);
        assert_eq!(all[&9], tally(16, 128));
    }
}
