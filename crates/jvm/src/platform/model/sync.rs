//! Locks, thread-local storage and time.

use super::machine;
use std::cell::{Cell, RefCell, UnsafeCell};
use std::ops::{Deref, DerefMut};
use std::sync::LockResult;
use std::time::Duration;

pub use super::atomic;
pub use shuttle::thread_local;

/// The threads that sleep at a lock or a condition, the oldest first.
#[derive(Default)]
struct Queue(RefCell<Vec<i32>>);

impl Queue {
    const fn new() -> Self {
        Self(RefCell::new(Vec::new()))
    }

    /// Begins a sleep of the current thread, which ends when it is woken, or after so long.
    fn join(&self, at_most: Option<Duration>) {
        self.0.borrow_mut().push(machine::number());
        machine::fall_asleep(at_most);
    }

    /// Sleeps after [`Self::join`]; false if the time was over.
    fn sleep(&self) -> bool {
        let me = machine::number();
        let is_woken = machine::sleep();
        self.0.borrow_mut().retain(|thread| *thread != me);
        is_woken
    }

    fn wake_one(&self) {
        let first = {
            let mut threads = self.0.borrow_mut();
            (!threads.is_empty()).then(|| threads.remove(0))
        };
        if let Some(first) = first {
            machine::wake(first);
        }
    }

    fn wake_all(&self) {
        let all = std::mem::take(&mut *self.0.borrow_mut());
        all.into_iter().for_each(machine::wake);
    }
}

/// A lock that, like the standard library's, does not show its owner.
#[derive(Default)]
pub struct Mutex<T> {
    /// The thread that owns it, 0 for none.
    owner: Cell<i32>,
    queue: Queue,
    value: UnsafeCell<T>,
}

// SAFETY: the threads of a model run one at a time on one thread of the system, and only the owner uses the value.
unsafe impl<T: Send> Sync for Mutex<T> {}

/// The right to use the value of a lock.
pub struct MutexGuard<'a, T>(&'a Mutex<T>);

impl<T> Mutex<T> {
    pub const fn new(value: T) -> Self {
        Self { owner: Cell::new(0), queue: Queue::new(), value: UnsafeCell::new(value) }
    }

    /// Waits until the lock is free, and takes it.
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        machine::step();
        self.take();
        Ok(MutexGuard(self))
    }

    fn take(&self) {
        while self.owner.get() != 0 {
            assert_ne!(self.owner.get(), machine::number(), "the lock is not recursive");
            self.queue.join(None);
            self.queue.sleep();
        }
        self.owner.set(machine::number());
    }

    fn release(&self) {
        machine::commit_all();
        self.owner.set(0);
        self.queue.wake_one();
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: only the owner of the lock has a guard.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: only the owner of the lock has a guard.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        machine::step();
        self.0.release();
    }
}

/// A condition variable.
#[derive(Default)]
pub struct Condvar(Queue);

// SAFETY: the threads of a model run one at a time on one thread of the system.
unsafe impl Sync for Condvar {}

/// True if a wait has ended because its time was over.
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

impl Condvar {
    pub const fn new() -> Self {
        Self(Queue::new())
    }

    /// Releases the lock, and takes it again after a notification.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        self.wait_for(&guard, None);
        Ok(guard)
    }

    /// Waits like [`Self::wait`], with a time limit.
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        at_most: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let is_woken = self.wait_for(&guard, Some(at_most));
        Ok((guard, WaitTimeoutResult(!is_woken)))
    }

    fn wait_for<T>(&self, guard: &MutexGuard<'_, T>, at_most: Option<Duration>) -> bool {
        machine::step();
        self.0.join(at_most);
        guard.0.release();
        let is_woken = self.0.sleep();
        guard.0.take();
        is_woken
    }

    pub fn notify_one(&self) {
        machine::step();
        self.0.wake_one();
    }

    pub fn notify_all(&self) {
        machine::step();
        self.0.wake_all();
    }
}

/// Sleeps for so long.
pub fn sleep(time: Duration) {
    machine::commit_all();
    machine::fall_asleep(Some(time));
    machine::sleep();
}

/// A time of the model.
#[derive(Clone, Copy)]
pub struct Instant(Duration);

impl Instant {
    pub fn now() -> Self {
        Self(machine::now())
    }

    pub fn checked_add(self, time: Duration) -> Option<Self> {
        self.0.checked_add(time).map(Self)
    }

    pub fn checked_duration_since(self, earlier: Self) -> Option<Duration> {
        self.0.checked_sub(earlier.0)
    }
}
