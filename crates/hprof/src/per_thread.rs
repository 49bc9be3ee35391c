//! The data of each thread.

use crate::call_times::{CallTimes, Timed};
use crate::cpu_clock::CpuClock;
use crate::mutex::lock;
use crate::objects::Cursor;
use crate::session::Session;
use crate::sites::Allocations;
use jvm::platform::membarrier;
use jvmpi::{Frame, Frames};
use jvmpi_formats::hprof::options::Cpu;
use jvmpi_formats::profile::ThreadSerial;
use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, compiler_fence};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// The data of a thread in one session.
#[derive(Debug)]
pub struct Own {
    /// The session that it is for.
    pub session: Arc<Session>,
    /// The number of the thread.
    pub serial: ThreadSerial,
    /// A buffer for a trace.
    pub frames: Frames,
    /// Its allocation sites.
    pub allocations: Allocations<Frame>,
    /// The page of its last object.
    pub cursor: Cursor,
    /// Its current calls.
    pub calls: CallTimes,
    /// The clock for the begin and end of calls.
    pub clock: CpuClock,
    /// The ID of the object or the raw monitor that it waits for, and the time at which the wait began.
    pub waits: Option<(usize, Instant)>,
}

impl Own {
    /// Creates the data of a thread and registers the thread with the session.
    pub fn new(session: Arc<Session>, env: usize, serial: ThreadSerial) -> Self {
        let timed = match session.options.cpu {
            Some(Cpu::Old) => Timed::WithCallees,
            _ => Timed::Own,
        };
        let limit = Arc::clone(&session.contexts);
        let own = Self {
            serial,
            frames: Frames::with_depth(session.alloc_depth()),
            allocations: Allocations::default(),
            cursor: Cursor::default(),
            calls: CallTimes::new(session.options.depth, timed, session.options.over, limit),
            clock: CpuClock::default(),
            waits: None,
            session,
        };
        own.session.add_thread(env, serial, own.calls.costs(), own.allocations.counts());
        own
    }
}

/// A thread's own data. The thread uses it without a lock. The end of a recording takes the data away, so that a
/// thread that waits for years keeps no memory.
///
/// The thread sets `is_used` before it compares the epoch with that of the data. A taker changes the epoch, makes all
/// processors pass a barrier, and then reads `is_used`. At least one of the two sees the other's write. Either the
/// data is in use and stays, or the thread sees a new epoch and waits for the lock before it touches the data.
#[derive(Debug, Default)]
pub struct Slot {
    is_used: AtomicBool,
    /// The [`epoch`](crate::shared::Shared) of the data. Only the thread writes it.
    epoch: AtomicU32,
    own: UnsafeCell<Option<Box<Own>>>,
    changing: Mutex<()>,
}

// SAFETY: the thread accesses the data while `is_used` is set; another thread accesses it under `changing` while it
// is not, by the protocol above. `Own` can be dropped by any thread.
unsafe impl Sync for Slot {}
// SAFETY: as above.
unsafe impl Send for Slot {}

impl Slot {
    /// Returns the data to its thread. `epoch` returns the current epoch, and `renew` renews data of another epoch.
    /// Returns None if the thread is already using the data.
    #[inline]
    pub fn own(
        &self,
        epoch: impl FnOnce() -> u32,
        renew: impl FnOnce(&mut Option<Box<Own>>),
    ) -> Option<InUse<'_>> {
        if self.is_used.load(Ordering::Relaxed) {
            return None;
        }
        let guard = Used(self);
        self.is_used.store(true, Ordering::Relaxed);
        // The taker's barrier makes this fence one for the processor too.
        compiler_fence(Ordering::SeqCst);
        let epoch = epoch();
        if self.epoch.load(Ordering::Relaxed) != epoch {
            self.renew(epoch, renew);
        }
        // SAFETY: this thread uses the data, and no other thread accesses it meanwhile.
        let own = unsafe { &mut *self.own.get() }.as_deref_mut()?;
        Some(InUse { own, _guard: guard })
    }

    #[cold]
    fn renew(&self, epoch: u32, renew: impl FnOnce(&mut Option<Box<Own>>)) {
        let _changing = lock(&self.changing);
        // SAFETY: every taker of the data holds the lock.
        renew(unsafe { &mut *self.own.get() });
        self.epoch.store(epoch, Ordering::Relaxed);
    }

    /// Takes the data of another thread, after the epoch has become `epoch` and a later [`pass_barrier`] has
    /// succeeded. Returns None if the thread is using the data, has renewed it since, or has none.
    pub fn take(&self, epoch: u32) -> Option<Box<Own>> {
        let _changing = lock(&self.changing);
        let is_of_before = (self.epoch.load(Ordering::Relaxed).wrapping_sub(epoch) as i32) < 0;
        if !is_of_before || self.is_used.load(Ordering::Acquire) {
            return None;
        }
        // SAFETY: the thread does not use the data, and waits for the lock before it does.
        unsafe { &mut *self.own.get() }.take()
    }
}

/// Makes all threads of the process pass a memory barrier. Returns false if the system does not support that.
pub fn pass_barrier() -> bool {
    membarrier::register().then(membarrier::of_all_threads).is_some()
}

/// Marks a slot as used by its thread until this is dropped.
#[derive(Debug)]
struct Used<'a>(&'a Slot);

impl Drop for Used<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.is_used.store(false, Ordering::Release);
    }
}

/// The data of the current thread, in use.
#[derive(Debug)]
pub struct InUse<'a> {
    own: &'a mut Own,
    _guard: Used<'a>,
}

impl Deref for InUse<'_> {
    type Target = Own;

    #[inline]
    fn deref(&self) -> &Own {
        self.own
    }
}

impl DerefMut for InUse<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Own {
        self.own
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jvmpi_formats::hprof::options::Options;
    use std::thread;

    /// A thread uses its data continuously, while another one takes it as often as possible.
    #[test]
    fn data_is_taken_while_its_thread_does_not_use_it() {
        let session = Arc::new(Session::new(Options::default()));
        let (slot, epoch, ends) = (Slot::default(), AtomicU32::new(1), AtomicBool::new(false));
        let mut taken = 0;
        thread::scope(|scope| {
            let user = scope.spawn(|| {
                let mut renewed = 0;
                while !ends.load(Ordering::Relaxed) {
                    let renew = |own: &mut Option<Box<Own>>| {
                        renewed += 1;
                        let session = Arc::clone(&session);
                        *own = Some(Box::new(Own::new(session, 1, ThreadSerial(0))));
                    };
                    let mut own = slot.own(|| epoch.load(Ordering::Relaxed), renew).unwrap();
                    assert!(slot.own(|| 0, |_| {}).is_none(), "twice at a time");
                    assert_eq!(own.serial, ThreadSerial(0));
                    own.serial = ThreadSerial(7);
                    own.serial = ThreadSerial(0);
                }
                renewed
            });
            while taken < 20 && pass_barrier() {
                let next = epoch.fetch_add(1, Ordering::Relaxed) + 1;
                assert!(pass_barrier());
                if let Some(own) = slot.take(next) {
                    assert_eq!(own.serial, ThreadSerial(0));
                    taken += 1;
                }
                thread::yield_now();
            }
            ends.store(true, Ordering::Relaxed);
            assert!(user.join().unwrap() >= taken);
        });
    }
}
