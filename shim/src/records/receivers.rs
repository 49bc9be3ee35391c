//! The IDs of objects whose methods a thread has just called, by the objects' addresses.
//!
//! The VM takes 30 ns and more to find an object's tag, most of a METHOD_ENTRY2. The object's address is what
//! a JNI reference points to; it stays the same until objects [move](moves), and the ID, and to whom it was
//! announced, until the [epoch](super::epoch) ends. No other object can have the address before: memory
//! is used again only after a collection.

use super::moves;
use jni_sys::jobject;
use jvmpi_sys::jobjectID;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// How many objects are known at a time.
const PLACES: usize = 256;

/// What a thread knows of receivers. Only the thread itself uses this.
#[derive(Default)]
pub struct Receivers {
    /// The time between two collections, and the epoch, of which all of this is.
    time: AtomicU64,
    epoch: AtomicU64,
    /// From when the thread learns of the first one.
    known: OnceLock<Box<[Known; PLACES]>>,
}

#[derive(Default)]
struct Known {
    /// 0 if none is known.
    address: AtomicUsize,
    id: AtomicPtr<jvmpi_sys::_jobjectID>,
}

impl Receivers {
    /// The object's ID in this epoch: as it is known, or as `find` says, if that finds one. The object is
    /// a local reference, not NULL.
    #[inline]
    pub fn id(
        &self,
        object: jobject,
        epoch: u64,
        find: impl FnOnce() -> Option<jobjectID>,
    ) -> Option<jobjectID> {
        let Some((time, address)) = address(object) else { return find() };
        if self.is_of(time, epoch)
            && let Some(known) = self.known_at(address)
        {
            return Some(known.id.load(Ordering::Relaxed));
        }
        let id = find()?;
        // Otherwise the ID may be that of an object that has moved to this address meanwhile.
        if moves::is_still(time) {
            self.learn(time, epoch, address, id);
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

    fn learn(&self, time: u64, epoch: u64, address: usize, id: jobjectID) {
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

/// Where what is known of the object with this address stands: objects are apart by 8 bytes or more.
#[inline]
fn place(address: usize) -> usize {
    (address >> 3) % PLACES
}

/// The address of an object, and when it is that; None while objects may be moving.
#[inline]
fn address(object: jobject) -> Option<(u64, usize)> {
    // HotSpot marks references that are not local in these bits.
    const KIND: usize = 3;
    let time = moves::between()?;
    if object.addr() & KIND != 0 {
        return None;
    }
    // SAFETY: a local reference points to where the VM keeps the object's address (where it is one that moves
    // objects in pauses only). The collector may just be changing it, at once as all VMs write pointers.
    let address = unsafe { &*object.cast::<AtomicUsize>() }.load(Ordering::Relaxed);
    moves::is_still(time).then_some((time, address))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr;

    #[test]
    fn what_is_known_is_of_one_time_and_epoch() {
        let receivers = Receivers::default();
        let id = ptr::without_provenance_mut(16);
        let known = |time, epoch, address| {
            receivers.is_of(time, epoch) && receivers.known_at(address).is_some()
        };
        receivers.learn(1, 2, 0x1000, id);
        receivers.learn(1, 2, 0x1010, id);
        assert!(known(1, 2, 0x1000) && known(1, 2, 0x1010) && !known(1, 2, 0x1020));
        assert!(!known(2, 2, 0x1000) && !known(1, 4, 0x1000));
        receivers.learn(2, 2, 0x1020, id);
        assert!(known(2, 2, 0x1020) && !known(2, 2, 0x1000));
    }
}
