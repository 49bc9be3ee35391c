//! What each thread keeps for itself.

use crate::call_times::{CallTimes, Timed};
use crate::cpu_clock::CpuClock;
use crate::objects::Cursor;
use crate::session::Session;
use crate::sites::Allocations;
use jvmpi::{Frame, Frames};
use jvmpi_formats::hprof::options::Cpu;
use jvmpi_formats::profile::ThreadSerial;
use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, compiler_fence};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// What a thread keeps for itself, in one session.
#[derive(Debug)]
pub struct Own {
    /// The session that it is for.
    pub session: Arc<Session>,
    /// The number of the thread.
    pub serial: ThreadSerial,
    /// Room for a trace.
    pub frames: Frames,
    /// Where it allocates.
    pub allocations: Allocations<Frame>,
    /// Where its last object was written.
    pub cursor: Cursor,
    /// The calls that it is in.
    pub calls: CallTimes,
    /// When they begin and end.
    pub clock: CpuClock,
    /// The monitor that it waits for, and since when.
    pub waits: Option<(Waited, Instant)>,
}

/// A monitor that is waited for, as events name it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waited {
    /// That of an object.
    Java(u64),
    /// A raw monitor.
    Raw(u64),
}

impl Own {
    /// The data of a thread that has done nothing yet in the session, which hears of it.
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
            calls: CallTimes::new(session.options.depth, timed, limit),
            clock: CpuClock::default(),
            waits: None,
            session,
        };
        own.session.add_thread(env, serial, own.calls.costs(), own.allocations.counts());
        own
    }
}

/// A thread's own data. The thread uses it without a lock, and the end of a recording takes it away: a thread that
/// waits for years keeps no memory.
///
/// The thread says that it uses the data before it looks whether the epoch is that of the data. Whoever takes the
/// data changes the epoch first, then has all processors pass a barrier, then looks whether the thread uses it. So
/// the one sees the other: either the data is in use and stays, or the thread finds another epoch, and waits for
/// the lock before it touches the data.
#[derive(Debug, Default)]
pub struct Slot {
    is_used: AtomicBool,
    /// The [`epoch`](crate::agent::Shared) that the data is of. Only the thread writes it.
    epoch: AtomicU32,
    own: UnsafeCell<Option<Box<Own>>>,
    changing: Mutex<()>,
}

// SAFETY: the data is reached by its thread while `is_used`, and by another one under `changing` if it is not, as the
// protocol above has it. `Own` can be dropped by any thread.
unsafe impl Sync for Slot {}
// SAFETY: as above.
unsafe impl Send for Slot {}

impl Slot {
    /// Returns the data, for its thread. `epoch` returns the current epoch, and `renew` renews data of another one.
    /// None if the thread is using the data already.
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
        // The barrier of whoever takes the data makes it one for the processor too.
        compiler_fence(Ordering::SeqCst);
        let epoch = epoch();
        if self.epoch.load(Ordering::Relaxed) != epoch {
            self.renew(epoch, renew);
        }
        // SAFETY: this thread uses the data, and nobody else reaches it until it does not.
        let own = unsafe { &mut *self.own.get() }.as_deref_mut()?;
        Some(InUse { own, _guard: guard })
    }

    #[cold]
    fn renew(&self, epoch: u32, renew: impl FnOnce(&mut Option<Box<Own>>)) {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: whoever takes the data holds the lock.
        renew(unsafe { &mut *self.own.get() });
        self.epoch.store(epoch, Ordering::Relaxed);
    }

    /// Takes the data of another thread, after the epoch has become `epoch` and [`pass_barrier`] has succeeded since.
    /// None if the thread is using it, has renewed it since, or has none.
    pub fn take(&self, epoch: u32) -> Option<Box<Own>> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let is_of_before = (self.epoch.load(Ordering::Relaxed).wrapping_sub(epoch) as i32) < 0;
        if !is_of_before || self.is_used.load(Ordering::Acquire) {
            return None;
        }
        // SAFETY: the thread does not use the data, and waits for the lock before it does.
        unsafe { &mut *self.own.get() }.take()
    }
}

/// Has all threads of the process pass a memory barrier. False if the system does not do that.
pub fn pass_barrier() -> bool {
    let membarrier = |command: libc::c_int| {
        // SAFETY: the call takes numbers and touches no memory.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
    };
    membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
        && membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED)
}

/// A thread uses its own data until this is dropped.
#[derive(Debug)]
struct Used<'a>(&'a Slot);

impl Drop for Used<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.is_used.store(false, Ordering::Release);
    }
}

/// The data of the current thread.
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
    use jvmpi_formats::hprof::options::{Options, Request};
    use std::thread;

    fn options() -> Options {
        match Request::parse("cpu=times", 1).unwrap() {
            Request::Run(options) => options,
            Request::Help => panic!("help"),
        }
    }

    /// Threads use their data all the time, and it is taken from them as often as it can be.
    #[test]
    fn data_is_taken_while_its_thread_does_not_use_it() {
        let session = Arc::new(Session::new(options()));
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
