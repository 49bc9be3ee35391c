//! A cache of the IDs of objects whose methods a thread has just called, by the objects' addresses.
//!
//! The VM takes 30 ns and more to find an object's tag, most of the time of a METHOD_ENTRY2. A JNI reference
//! points to the object's address. The address is valid until objects [move](pauses); the ID and the
//! announcements stay the same until the [epoch](super::phase) ends. No other object can have the address
//! before, because memory is reused only after a collection.

use super::pauses;
use jni_sys::jobject;
use jvmpi_sys::jobjectID;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// The number of places in the cache.
const PLACES: usize = 256;

/// The cache of one thread. Only the thread itself uses it.
#[derive(Default)]
pub struct Receivers {
    /// The time between two collections, and the epoch, for which the cache is valid.
    time: AtomicU64,
    epoch: AtomicU64,
    /// Allocated for the first entry.
    known: OnceLock<Box<[Known; PLACES]>>,
}

#[derive(Default)]
struct Known {
    /// 0 if the place is empty.
    address: AtomicUsize,
    id: AtomicPtr<jvmpi_sys::_jobjectID>,
}

impl Receivers {
    /// Returns the object's ID in this epoch, if the cache has it. The object must be a local reference, not NULL.
    #[inline]
    pub fn known(&self, object: jobject, epoch: u64) -> Option<jobjectID> {
        let (time, address) = address(object)?;
        let known = self.is_of(time, epoch).then(|| self.known_at(address))??;
        Some(known.id.load(Ordering::Relaxed))
    }

    /// Returns the object's ID in this epoch from `find`, and puts it into the cache. The object must be as in
    /// [`Self::known`].
    pub fn learn(
        &self,
        object: jobject,
        epoch: u64,
        find: impl FnOnce() -> Option<jobjectID>,
    ) -> Option<jobjectID> {
        let before = address(object);
        let id = find()?;
        // Otherwise the object may have moved, and the address may belong to another one.
        if let Some((time, address)) = before.filter(|(time, _)| pauses::is_still(*time)) {
            self.put(time, epoch, address, id);
        }
        Some(id)
    }

    #[inline]
    fn known_at(&self, address: usize) -> Option<&Known> {
        let known = &self.known.get()?[place(address)];
        (known.address.load(Ordering::Relaxed) == address).then_some(known)
    }

    #[inline]
    fn is_of(&self, time: u64, epoch: u64) -> bool {
        self.time.load(Ordering::Relaxed) == time && self.epoch.load(Ordering::Relaxed) == epoch
    }

    fn put(&self, time: u64, epoch: u64, address: usize, id: jobjectID) {
        let all = self.known.get_or_init(|| Box::new(std::array::from_fn(|_| Known::default())));
        if !self.is_of(time, epoch) {
            all.iter().for_each(|known| known.address.store(0, Ordering::Relaxed));
            self.time.store(time, Ordering::Relaxed);
            self.epoch.store(epoch, Ordering::Relaxed);
        }
        let known = &all[place(address)];
        known.id.store(id, Ordering::Relaxed);
        known.address.store(address, Ordering::Relaxed);
    }
}

/// Returns the place for the object at this address. Objects are at least 8 bytes apart.
#[inline]
fn place(address: usize) -> usize {
    (address >> 3) % PLACES
}

/// Returns the address of an object with the time of its validity. None while objects may be moving.
#[inline]
fn address(object: jobject) -> Option<(u64, usize)> {
    // HotSpot sets these bits in references that are not local.
    const KIND: usize = 3;
    let time = pauses::between()?;
    if object.addr() & KIND != 0 {
        return None;
    }
    // SAFETY: a local reference points to where the VM keeps the object's address, in VMs that move objects
    // only in pauses. The collector may be changing it, but all VMs write a pointer at once.
    let address = unsafe { &*object.cast::<AtomicUsize>() }.load(Ordering::Relaxed);
    pauses::is_still(time).then_some((time, address))
}
