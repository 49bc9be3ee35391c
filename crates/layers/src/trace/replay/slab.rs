//! Structures that agents get pointers to. They are never freed, and what an agent passes is one of them or
//! is not.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The greatest number of structures.
const CAPACITY: usize = 1 << 20;

/// Structures of one type.
pub struct Slab<T> {
    items: Box<[UnsafeCell<MaybeUninit<T>>]>,
    used: AtomicUsize,
    whole: AtomicUsize,
}

// SAFETY: what was made is only read.
unsafe impl<T: Sync + Send> Sync for Slab<T> {}

impl<T: 'static> Slab<T> {
    pub fn new() -> Self {
        // The memory becomes real as it is used.
        let items = Box::<[UnsafeCell<MaybeUninit<T>>]>::new_uninit_slice(CAPACITY);
        // SAFETY: what may be uninitialised needs no initialisation.
        let items = unsafe { items.assume_init() };
        Self { items, used: AtomicUsize::new(0), whole: AtomicUsize::new(0) }
    }

    /// Adds an item and returns it; None if there are too many. One thread at a time may call this.
    pub fn add(&'static self, item: T) -> Option<&'static T> {
        let place = self.used.load(Ordering::Relaxed);
        let slot = self.items.get(place)?;
        self.used.store(place + 1, Ordering::Relaxed);
        let slot = slot.get().cast::<T>();
        // SAFETY: no other thread knows of the slot yet, and it lives as long as the slab.
        let item = unsafe {
            slot.write(item);
            &*slot
        };
        self.whole.store(place + 1, Ordering::Release);
        Some(item)
    }

    /// Returns the item at this address, if there is one.
    #[inline]
    pub fn get(&'static self, address: u64) -> Option<&'static T> {
        let offset = (address as usize).checked_sub(self.items.as_ptr() as usize)?;
        let place = offset / size_of::<T>();
        if offset % size_of::<T>() != 0 || place >= self.whole.load(Ordering::Acquire) {
            return None;
        }
        // SAFETY: it was made, and is never freed.
        Some(unsafe { (*self.items[place].get()).assume_init_ref() })
    }
}
