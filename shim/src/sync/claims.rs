//! What one thread at a time may do although it takes calls of the VM: tag objects, and change which
//! threads agents have suspended. No other lock is held over such calls (`lock`).
//!
//! In a call of the VM a thread can be suspended. It must not hold a claim then, or all threads that
//! want the claim would be blocked, perhaps also the one that is to resume it. Hence the rules:
//!
//! - A thread that suspends others holds both claims. So no owner of a claim is suspended.
//! - JVMTI lets native code of a suspended thread run until it calls the VM, so a suspended thread may
//!   take a claim. It releases it at once and waits until it has been resumed.
//! - Resuming takes [`to_resume`] alone, which no thread holds that waits for [`to_tag`].
//!
//! So the owner of a claim always goes on, unless it was suspended without a claim: by the program's
//! `Thread.suspend`, or by a debugger. The thread that is to resume it may be blocked too, so a thread
//! that finds the owner suspended in this way goes on without the claim. What that can cost is an
//! object with two IDs.

use super::bounded_wait::BoundedWait;
use crate::jvm;
use crate::lock::assert_none_held;
use crate::platform::futex;
use crate::platform::os_thread::os_thread;
use crate::records::{registry, running};
use jvmti_sys::JVMTI_THREAD_STATE_SUSPENDED;
use std::sync::atomic::{AtomicU32, Ordering};

/// Something that one thread at a time may do.
struct Claim {
    /// The OS thread that owns it, 0 for none; with [`AWAITED`].
    owner: AtomicU32,
    /// How many threads wait for it that do not want to suspend others.
    waiting: AtomicU32,
    /// Counts those of them whose wait is over.
    served: AtomicU32,
}

/// Whether threads wait: a bit of no thread's number.
const AWAITED: u32 = 1 << 31;
/// Nanoseconds between two looks whether the owner has been suspended. It can be any number: it
/// passes only if the owner holds the claim for so long. It is also the limit for which a thread that
/// is to suspend others lets waiting threads have the claim first.
const LOOK: i64 = 10_000_000;

static TAGGING: Claim = Claim::new();
static SUSPENSIONS: Claim = Claim::new();

/// Holds the claim until it is dropped; None where the thread holds it already, or goes on without.
#[must_use]
pub struct Claimed(Option<&'static Claim>);

impl Drop for Claimed {
    fn drop(&mut self) {
        if let Some(claim) = self.0 {
            claim.release();
        }
    }
}

/// The right to look at objects and tag them, or to do something else that one thread at a time may
/// do over calls of the VM. Its owner may take it again.
pub fn to_tag() -> Claimed {
    TAGGING.take()
}

/// The right to resume threads, and to look at the stacks of suspended ones.
pub fn to_resume() -> Claimed {
    SUSPENSIONS.take()
}

/// The right to suspend threads, and all that the other claims allow.
#[must_use]
pub struct ToSuspend {
    _suspensions: Claimed,
    _tagging: Claimed,
}

/// Whether the current thread holds the claim to suspend others. It must not call an agent then, nor
/// have another thread do so: a suspended thread may hold the agent's lock.
pub fn is_suspending() -> bool {
    SUSPENSIONS.is_mine()
}

/// See [`ToSuspend`].
///
/// Samplers take this all the time, and hold it for long where each suspension stops the world, as
/// before JDK 17: without precedence for others, a thread that starts or ends would wait for seconds.
pub fn to_suspend() -> ToSuspend {
    if !TAGGING.is_mine() {
        TAGGING.let_others_first();
        SUSPENSIONS.let_others_first();
    }
    let tagging = TAGGING.take_for(true);
    ToSuspend { _suspensions: SUSPENSIONS.take_for(true), _tagging: tagging }
}

impl Claim {
    const fn new() -> Self {
        Self { owner: AtomicU32::new(0), waiting: AtomicU32::new(0), served: AtomicU32::new(0) }
    }

    fn is_mine(&self) -> bool {
        self.owner.load(Ordering::Relaxed) & !AWAITED == os_thread() as u32
    }

    fn take(&'static self) -> Claimed {
        self.take_for(false)
    }

    fn take_for(&'static self, suspending: bool) -> Claimed {
        assert_none_held();
        if self.is_mine() {
            return Claimed(None);
        }
        while self.wait_for(suspending) {
            // Others may have suspended it before it has run any of the shim's code.
            let current = running::recorded();
            let release = || self.release();
            if !current.is_some_and(|me| me.suspension.wait_until_resumed(release)) {
                return Claimed(Some(self));
            }
        }
        Claimed(None)
    }

    /// Waits until the claim is free and takes it; false if its owner cannot go on.
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

    /// Gives waiting threads a chance to take the claim.
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
        let mut waiting = BoundedWait::new();
        loop {
            let owner = self.owner.load(Ordering::Relaxed);
            if owner == 0 {
                // Others may still wait.
                if self.change(0, me | AWAITED) {
                    return true;
                }
            } else if owner & AWAITED != 0 || self.change(owner, owner | AWAITED) {
                let awaited = owner | AWAITED;
                let is_woken = futex::wait(&self.owner, awaited, Some(LOOK));
                let is_owner = || self.owner.load(Ordering::Relaxed) == awaited;
                // Once more after the look: it may have released it, and wait for this thread.
                if !is_woken && is_owner() && is_stuck(owner, &mut waiting) && is_owner() {
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

/// Whether the owner of a claim was suspended without a claim, or cannot go on.
fn is_stuck(owner: u32, waiting: &mut BoundedWait) -> bool {
    let os_thread = (owner & !AWAITED) as i32;
    let known = registry::by_os_thread(os_thread);
    let Some((object, owner)) = known.and_then(|owner| Some((owner.object()?, owner))) else {
        // It is starting, and gives an ID to its own Thread object, of which JVMTI says nothing yet.
        return !waiting.can_go_on(os_thread);
    };
    let state = jvm::get().jvmti.thread_state(object.get()).unwrap_or(0);
    state & JVMTI_THREAD_STATE_SUSPENDED != 0 && !owner.suspension.is_suspended()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;
    use std::thread;

    #[test]
    fn one_thread_at_a_time_holds_a_claim() {
        static CLAIM: Claim = Claim::new();
        static IS_TAKEN: AtomicBool = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for i in 0..5_000 {
                        let _claim = CLAIM.take();
                        assert!(!IS_TAKEN.swap(true, Ordering::Relaxed));
                        let again = CLAIM.take();
                        assert!(again.0.is_none(), "the thread holds it");
                        drop(again);
                        if i % 64 == 0 {
                            thread::yield_now();
                        }
                        IS_TAKEN.store(false, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(CLAIM.owner.load(Ordering::Relaxed), 0);
    }
}
