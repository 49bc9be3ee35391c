//! The CPU samples that threads have taken in their signal handlers, until the agent takes them.
//!
//! A handler neither locks nor allocates: it claims a free slot with one atomic operation, and the collecting thread
//! frees the slot after it has read the sample.

use jni_sys::JNIEnv;
use jvm::async_call_trace::RawFrame;
use jvm::platform::anonymous_memory;
use jvmpi_sys::jobjectID;
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU64, Ordering};
use std::{ptr, slice};

/// The number of samples that can wait.
pub const SLOTS: usize = 1024;

/// The largest number of frames of a sample. One more is walked, which shows that the stack is deeper.
pub const MAX_DEPTH: usize = 1024;

const ROOM: usize = MAX_DEPTH + 1;

/// The states of a slot.
const FREE: u8 = 0;
/// A handler writes the sample.
const CLAIMED: u8 = 1;
const FULL: u8 = 2;

/// A sample without its frames.
#[derive(Clone, Copy)]
pub struct Head {
    /// The ID of the thread.
    pub env: *mut JNIEnv,
    /// The ID of the thread's object; NULL if it is not known.
    pub object: jobjectID,
    /// One of the `JVMPI_CPU_SAMPLE_…` constants.
    pub kind: i32,
    /// The number of intervals that the sample stands for.
    pub count: u32,
    /// The number of frames.
    pub frames: usize,
}

// SAFETY: the environment and the object are only identities here.
unsafe impl Send for Head {}

impl Head {
    /// A sample of no thread.
    pub const EMPTY: Self =
        Self { env: ptr::null_mut(), object: ptr::null_mut(), kind: 0, count: 0, frames: 0 };
}

pub struct Pool {
    states: [AtomicU8; SLOTS],
    heads: [UnsafeCell<Head>; SLOTS],
    /// [`ROOM`] frames for each slot. NULL until [`Self::map`] succeeds; never unmapped.
    frames: AtomicPtr<RawFrame>,
    /// The number of intervals for which there was no slot.
    lost: AtomicU64,
}

// SAFETY: only the thread that has claimed a slot writes its head and frames, and only the collecting thread, which
// holds the lock of the sampler, reads those of a full slot.
unsafe impl Sync for Pool {}

impl Pool {
    pub const fn new() -> Self {
        Self {
            states: [const { AtomicU8::new(FREE) }; SLOTS],
            heads: [const { UnsafeCell::new(Head::EMPTY) }; SLOTS],
            frames: AtomicPtr::new(ptr::null_mut()),
            lost: AtomicU64::new(0),
        }
    }

    /// Maps the memory of the frames. Only used pages are resident. Returns false if there is no memory.
    pub fn map(&self) -> bool {
        if !self.frames.load(Ordering::Acquire).is_null() {
            return true;
        }
        let Some(memory) = anonymous_memory::map(SLOTS * ROOM) else { return false };
        self.frames.store(memory, Ordering::Release);
        true
    }

    pub fn clear(&self) {
        (0..SLOTS).for_each(|slot| self.free(slot));
        self.lost.store(0, Ordering::Relaxed);
    }

    /// Adds a sample. `take` gets the room for `depth` frames, and returns the sample's kind and the number of its frames.
    /// May be called in a signal handler.
    pub fn put(
        &self,
        head: Head,
        depth: usize,
        take: impl FnOnce(&mut [RawFrame]) -> (i32, usize),
    ) {
        let memory = self.frames.load(Ordering::Acquire);
        let claim = |slot: &usize| {
            let state = &self.states[*slot];
            let order = Ordering::Acquire;
            state.load(Ordering::Relaxed) == FREE
                && state.compare_exchange(FREE, CLAIMED, order, Ordering::Relaxed).is_ok()
        };
        // The first slots are used first, so few pages of the memory are ever touched.
        let Some(slot) = (0..SLOTS).find(claim).filter(|_| !memory.is_null()) else {
            self.lost.fetch_add(head.count.into(), Ordering::Relaxed);
            return;
        };
        // SAFETY: this thread has claimed the slot, which has this much room. A frame of zero bytes is valid.
        let room = unsafe { slice::from_raw_parts_mut(memory.add(slot * ROOM), depth.min(ROOM)) };
        let (kind, frames) = take(room);
        // SAFETY: this thread has claimed the slot.
        unsafe { self.heads[slot].get().write(Head { kind, frames, ..head }) };
        self.states[slot].store(FULL, Ordering::Release);
    }

    /// Returns the sample in a slot, with its frames; None if there is none. Called with the lock of the sampler held.
    pub fn get(&self, slot: usize) -> Option<(Head, &[RawFrame])> {
        if self.states[slot].load(Ordering::Acquire) != FULL {
            return None;
        }
        // SAFETY: the slot is full, so no handler writes to it until it is freed.
        let head = unsafe { self.heads[slot].get().read() };
        let memory = self.frames.load(Ordering::Acquire);
        // SAFETY: as above; the handler has written that many frames.
        let frames = unsafe { slice::from_raw_parts(memory.add(slot * ROOM), head.frames) };
        Some((head, frames))
    }

    /// Frees a full slot.
    pub fn free(&self, slot: usize) {
        let order = Ordering::Release;
        let _ = self.states[slot].compare_exchange(FULL, FREE, order, Ordering::Relaxed);
    }

    /// Returns the number of intervals for which there was no slot, and restarts it at 0.
    pub fn take_lost(&self) -> u64 {
        self.lost.swap(0, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    fn put(pool: &Pool, number: usize) {
        let env = ptr::without_provenance_mut(number);
        pool.put(Head { env, count: 1, ..Head::EMPTY }, 3, |room| {
            room.fill(RawFrame { bci: number as i32, method: ptr::null_mut() });
            (0, room.len())
        });
    }

    #[test]
    fn samples_of_many_threads_arrive_whole_or_are_counted() {
        static POOL: Pool = Pool::new();
        assert!(POOL.map());
        const EACH: usize = 400;
        thread::scope(|scope| {
            for thread in 0..4 {
                scope.spawn(move || (0..EACH).for_each(|i| put(&POOL, 1 + thread * EACH + i)));
            }
        });
        let mut seen = vec![false; 4 * EACH + 1];
        for slot in 0..SLOTS {
            let (head, frames) = POOL.get(slot).unwrap();
            assert_eq!(frames.len(), 3);
            assert!(frames.iter().all(|frame| frame.bci as usize == head.env.addr()));
            assert!(!std::mem::replace(&mut seen[head.env.addr()], true));
            POOL.free(slot);
        }
        assert_eq!(POOL.take_lost() as usize, 4 * EACH - SLOTS);
        assert_eq!(POOL.take_lost(), 0);
        put(&POOL, 7);
        assert!(POOL.get(0).is_some() && POOL.get(1).is_none());
    }
}
