//! A slot of each thread for a pointer. The first 64 slots of a process are in the thread's own block of memory, at an
//! offset that does not change, so that reading one takes an instruction and leaves the thread's last error alone.

use std::arch::asm;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use windows_sys::Win32::System::Threading::{
    TLS_OUT_OF_INDEXES, TlsAlloc, TlsGetValue, TlsSetValue,
};

/// The place of the first slot in a thread's block, and the number of slots there.
const FIRST: u32 = 0x1480;
const IN_BLOCK: u32 = 64;

/// A slot, which the system gives out when it is first set.
pub struct Slot {
    /// The place in a thread's block; 0 if there is none.
    place: AtomicU32,
    index: OnceLock<u32>,
}

impl Slot {
    /// Returns a slot that no thread has set.
    #[must_use]
    pub const fn new() -> Self {
        Self { place: AtomicU32::new(0), index: OnceLock::new() }
    }

    /// Returns the pointer that the current thread set last, NULL at first.
    #[inline(always)]
    pub fn get(&self) -> *const () {
        let place = self.place.load(Ordering::Relaxed);
        if place == 0 {
            return self.get_elsewhere();
        }
        let pointer;
        // SAFETY: the place is that of this slot in the thread's block, which only this thread accesses.
        unsafe {
            asm!(
                "mov {0}, qword ptr gs:[{1}]",
                out(reg) pointer,
                in(reg) u64::from(place),
                options(pure, readonly, nostack, preserves_flags)
            );
        }
        pointer
    }

    #[cold]
    fn get_elsewhere(&self) -> *const () {
        // SAFETY: the index is one that the system has given.
        self.index.get().map_or(std::ptr::null(), |index| unsafe { TlsGetValue(*index) }.cast())
    }

    /// Sets the pointer of the current thread. Does nothing if the process has no slot left.
    pub fn set(&self, pointer: *const ()) {
        let index = *self.index.get_or_init(|| {
            // SAFETY: the function has no precondition.
            let index = unsafe { TlsAlloc() };
            if index < IN_BLOCK {
                self.place.store(FIRST + 8 * index, Ordering::Relaxed);
            }
            index
        });
        if index != TLS_OUT_OF_INDEXES {
            // SAFETY: the system has given this index.
            unsafe { TlsSetValue(index, pointer.cast()) };
        }
    }
}

impl Default for Slot {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr;
    use std::thread;

    #[test]
    fn slots_in_the_block_and_elsewhere_have_a_value_for_each_thread() {
        let values: Vec<u32> = (0..100).collect();
        let slots: Vec<Slot> = values.iter().map(|_| Slot::new()).collect();
        let is_set = |first: usize| {
            slots.iter().zip(&values[first..]).all(|(slot, value)| {
                assert!(slot.get().is_null());
                slot.set(ptr::from_ref(value).cast());
                ptr::eq(slot.get().cast(), value)
            })
        };
        assert!(is_set(0));
        let of_another = thread::scope(|scope| scope.spawn(|| slots[0].get().addr()).join());
        assert_eq!(of_another.unwrap(), 0);
        let in_block = slots.iter().filter(|slot| slot.place.load(Ordering::Relaxed) != 0).count();
        assert!(0 < in_block && in_block < slots.len());
        assert!(slots.iter().zip(&values).all(|(slot, value)| ptr::eq(slot.get().cast(), value)));
    }
}
