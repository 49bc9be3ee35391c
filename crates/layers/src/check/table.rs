//! Tables of what the VM names by numbers. They take no lock and do not grow: a handler may run in the
//! middle of anything, while threads are suspended.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The number of places that are tried for a key.
const PROBES: usize = 64;

fn place_of(key: usize, places: usize) -> usize {
    // Fibonacci hashing: what the VM gives out differs in the middle bits.
    ((key as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) as usize & (places - 1)
}

/// Values by keys other than 0. A key that was put in stays; a key that finds no place is not kept.
pub struct Table<V>(Box<[(AtomicUsize, V)]>);

impl<V: Default> Table<V> {
    /// Returns a table with this many places, a power of two.
    pub fn new(places: usize) -> Self {
        assert!(places.is_power_of_two());
        Self((0..places).map(|_| Default::default()).collect())
    }

    /// Returns the places where a key may be, in the order in which they are tried.
    fn places(&self, key: usize) -> impl Iterator<Item = &(AtomicUsize, V)> {
        let first = place_of(key, self.0.len());
        (0..PROBES).map(move |i| &self.0[(first + i) & (self.0.len() - 1)])
    }

    pub fn get(&self, key: usize) -> Option<&V> {
        let places = self.places(key).map(|(place, value)| (place.load(Ordering::Acquire), value));
        let found = places.take_while(|(found, _)| *found != 0).find(|(found, _)| *found == key);
        found.map(|(_, value)| value)
    }

    /// Returns true if the key was never put in. False if that cannot be known.
    pub fn lacks(&self, key: usize) -> bool {
        let places = self.places(key).map(|(place, _)| place.load(Ordering::Acquire));
        places.take_while(|found| *found != key).any(|found| found == 0)
    }

    /// Returns the value of the key, and adds the key if it is new. `None` if the table is full.
    pub fn put(&self, key: usize) -> Option<&V> {
        let takes = |place: &AtomicUsize| {
            let before = place.compare_exchange(0, key, Ordering::AcqRel, Ordering::Acquire);
            before.is_ok() || before == Err(key)
        };
        self.places(key).find(|(place, _)| takes(place)).map(|(_, value)| value)
    }
}

/// The known state of an ID.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Life {
    Unknown,
    Alive = 1,
    Over = 2,
}

/// The state of the latest IDs: an older one may be forgotten for a newer one. A place has an ID above its [`Life`].
pub struct Lives(Box<[AtomicU64]>);

impl Lives {
    /// Returns a table with this many places, a power of two.
    pub fn new(places: usize) -> Self {
        assert!(places.is_power_of_two());
        Self((0..places).map(|_| AtomicU64::new(0)).collect())
    }

    pub fn set(&self, key: usize, life: Life) {
        let place = &self.0[place_of(key, self.0.len())];
        place.store((key as u64) << 2 | life as u64, Ordering::Release);
    }

    pub fn get(&self, key: usize) -> Life {
        let found = self.0[place_of(key, self.0.len())].load(Ordering::Acquire);
        match found ^ (key as u64) << 2 {
            1 => Life::Alive,
            2 => Life::Over,
            _ => Life::Unknown,
        }
    }

    /// Notes that it is alive, if it was over.
    pub fn revive(&self, key: usize) {
        if self.get(key) == Life::Over {
            self.set(key, Life::Alive);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_keeps_what_it_has_a_place_for() {
        let table: Table<AtomicUsize> = Table::new(1 << 10);
        let keys: Vec<usize> = (1..=500).map(|i| i * 16).collect();
        for key in &keys {
            assert!(table.lacks(*key) && table.get(*key).is_none());
            table.put(*key).unwrap().store(*key, Ordering::Relaxed);
        }
        for key in &keys {
            assert_eq!(table.put(*key).unwrap().load(Ordering::Relaxed), *key);
            assert!(!table.lacks(*key));
        }
        let small: Table<AtomicUsize> = Table::new(2);
        assert!(small.put(1).is_some() && small.put(2).is_some() && small.put(3).is_none());
        assert!(!small.lacks(4), "a full table claims to know");
    }

    #[test]
    fn lives_end_and_begin_again() {
        let lives = Lives::new(1 << 10);
        assert_eq!(lives.get(32), Life::Unknown);
        lives.set(32, Life::Alive);
        assert_eq!(lives.get(32), Life::Alive);
        lives.set(32, Life::Over);
        assert_eq!(lives.get(32), Life::Over);
        lives.revive(32);
        assert_eq!(lives.get(32), Life::Alive);
        let one = Lives::new(1);
        one.set(16, Life::Over);
        one.set(32, Life::Over);
        assert_eq!((one.get(16), one.get(32)), (Life::Unknown, Life::Over));
    }
}
