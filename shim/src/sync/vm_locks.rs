//! Two locks that a thread holds during calls of the VM, called VM locks: to tag objects, and to change
//! which threads agents have suspended. No other lock is held during such calls (`lock`).
//!
//! A thread can be suspended in a call of the VM. If it held a VM lock then, all threads that need the
//! VM lock would block, perhaps also the thread that would resume it. Hence the rules:
//!
//! - A thread that suspends others holds both VM locks. So no owner of a VM lock is suspended.
//! - JVMTI lets native code of a suspended thread run until it calls the VM, so a suspended thread may
//!   take a lock. It releases the VM lock at once and waits until it has been resumed.
//! - Resuming takes [`for_resuming`] alone, and no thread that holds it waits for [`for_tags`].
//!
//! So the owner of a VM lock makes progress, unless it was suspended without a VM lock: by the program's
//! `Thread.suspend`, or by a debugger. The thread that would resume it may be blocked too, so a thread
//! that finds the owner suspended in this way continues without the lock. The worst result is an
//! object with two IDs.

use crate::records::registry;
use jvm::lock::assert_none_held;
use jvm::platform::futex;
use jvm::platform::os_thread::os_thread;
use jvm::platform::sync::atomic::{AtomicU32, Ordering};
use jvm::types::JVMTI_THREAD_STATE_SUSPENDED;

/// A lock that is held during calls of the VM.
struct VmLock {
    /// The OS thread that owns it, or 0; [`AWAITED`] is added while threads wait.
    owner: AtomicU32,
    /// The number of waiting threads that do not want to suspend others.
    waiting: AtomicU32,
    /// Counts the waits of such threads that have ended.
    served: AtomicU32,
}

/// Set while threads wait. No thread's number has this bit.
const AWAITED: u32 = 1 << 31;
/// Nanoseconds between two checks of the owner's suspension; any value is correct. It also limits the
/// time for which a thread that will suspend others lets waiting threads go first.
const LOOK: i64 = 10_000_000;

static TAGGING: VmLock = VmLock::new();
static SUSPENSIONS: VmLock = VmLock::new();

/// Holds the VM lock until it is dropped. None if the thread already holds it or continues without it.
#[must_use]
pub struct VmLockGuard(Option<&'static VmLock>);

impl Drop for VmLockGuard {
    fn drop(&mut self) {
        if let Some(lock) = self.0 {
            lock.release();
        }
    }
}

/// Takes the VM lock to read and set tags. It also serves for other work that calls the VM and that only
/// one thread at a time may do. Its owner may take it again.
pub fn for_tags() -> VmLockGuard {
    TAGGING.take()
}

/// Takes the VM lock to resume threads, and to read the stacks of suspended threads.
pub fn for_resuming() -> VmLockGuard {
    SUSPENSIONS.take()
}

/// Both VM locks: the owner may suspend threads, and do everything that the single VM locks allow.
pub type ForSuspending = [VmLockGuard; 2];

/// Returns true if the current thread may suspend others. Then neither it nor another thread on its
/// behalf may call an agent: a suspended thread may hold the agent's lock.
pub fn is_suspending() -> bool {
    SUSPENSIONS.is_mine()
}

/// Takes both VM locks.
///
/// Samplers call this all the time, and hold the VM locks for long if each suspension stops the world,
/// as before JDK 17. So other threads go first. Otherwise a thread that starts or ends would wait for
/// seconds.
pub fn for_suspending() -> ForSuspending {
    if !TAGGING.is_mine() {
        TAGGING.let_others_first();
        SUSPENSIONS.let_others_first();
    }
    let tagging = TAGGING.take_for(true);
    [SUSPENSIONS.take_for(true), tagging]
}

impl VmLock {
    const fn new() -> Self {
        Self { owner: AtomicU32::new(0), waiting: AtomicU32::new(0), served: AtomicU32::new(0) }
    }

    fn is_mine(&self) -> bool {
        let owner = self.owner.load(Ordering::Relaxed) & !AWAITED;
        owner != 0 && owner == os_thread() as u32
    }

    fn take(&'static self) -> VmLockGuard {
        self.take_for(false)
    }

    fn take_for(&'static self, suspending: bool) -> VmLockGuard {
        assert_none_held();
        if self.is_mine() {
            return VmLockGuard(None);
        }
        while self.wait_for(suspending) {
            // The thread may have been suspended before it ran any of the shim's code.
            let current = registry::recorded();
            let release = || self.release();
            if !current.is_some_and(|me| me.suspension.wait_until_resumed(release)) {
                return VmLockGuard(Some(self));
            }
        }
        VmLockGuard(None)
    }

    /// Waits until the VM lock is free and takes it. Returns false if the owner was suspended without one.
    fn wait_for(&self, suspending: bool) -> bool {
        let me = os_thread() as u32;
        if self.change(0, me) {
            return true;
        }
        if suspending {
            return self.wait_and_take(me);
        }
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let taken = self.wait_and_take(me);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        self.served.fetch_add(1, Ordering::Relaxed);
        futex::wake(&self.served);
        taken
    }

    /// Gives waiting threads a chance to take the VM lock.
    fn let_others_first(&self) {
        let served = self.served.load(Ordering::Relaxed);
        if self.waiting.load(Ordering::Relaxed) > 0 {
            futex::wait(&self.served, served, Some(LOOK));
        }
    }

    fn change(&self, from: u32, to: u32) -> bool {
        self.owner.compare_exchange(from, to, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    fn wait_and_take(&self, me: u32) -> bool {
        loop {
            let owner = self.owner.load(Ordering::Relaxed);
            if owner == 0 {
                // Other threads may still be waiting.
                if self.change(0, me | AWAITED) {
                    return true;
                }
            } else if owner & AWAITED != 0 || self.change(owner, owner | AWAITED) {
                let awaited = owner | AWAITED;
                let is_woken = futex::wait(&self.owner, awaited, Some(LOOK));
                let is_owner = || self.owner.load(Ordering::Relaxed) == awaited;
                // The owner is compared again after the check: it may have released the VM lock and now
                // wait for this thread.
                if !is_woken && is_owner() && is_suspended(owner) && is_owner() {
                    return false;
                }
            }
        }
    }

    fn release(&self) {
        if self.owner.swap(0, Ordering::Release) & AWAITED != 0 {
            futex::wake_one(&self.owner);
        }
    }
}

/// Returns true if the owner was suspended without a VM lock.
fn is_suspended(owner: u32) -> bool {
    let os_thread = (owner & !AWAITED) as i32;
    let known = registry::by_os_thread(os_thread);
    let Some((object, owner)) = known.and_then(|owner| Some((owner.object()?, owner))) else {
        // The thread is starting and gives its own Thread object an ID. JVMTI does not report its state yet.
        return false;
    };
    let state = jvm::get().jvmti.thread_state(object.get()).unwrap_or(0);
    state & JVMTI_THREAD_STATE_SUSPENDED != 0 && !owner.suspension.is_suspended()
}
