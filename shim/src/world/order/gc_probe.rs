//! Whether the VM wants to collect and is kept from it by a critical section of JNI's.
//!
//! Nothing tells that, but nobody else gets into a critical section then: the VM makes them wait until it has
//! collected. So a thread of the shim's tries to.

use super::lock_owner;
use crate::jvm::{self, Critical, GlobalRef, Jni};
use crate::lock::{Condition, Lock};
use crate::world::scheduling::is_asleep;
use crate::world::threads::os_thread::os_thread;
use std::sync::atomic::{AtomicI32, Ordering};

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nobody wants to know.
    Idle,
    /// The thread is about to begin a critical section, waits for it, or is in it.
    Trying,
    /// The VM ends.
    Over,
}

static STATE: Lock<State> = Lock::new(State::Idle);
static CHANGED: Condition = Condition::new();
/// The OS thread that tries, 0 until it runs.
static THREAD: AtomicI32 = AtomicI32::new(0);

/// Tries whenever it is asked to; returns when the VM ends.
pub fn run(jni: Jni, array: &GlobalRef) {
    THREAD.store(os_thread(), Ordering::SeqCst);
    while wait_until_asked() {
        drop(Critical::begin(jni, array));
        let mut state = STATE.lock();
        if *state == State::Trying {
            *state = State::Idle;
        }
    }
}

fn wait_until_asked() -> bool {
    let mut state = STATE.lock();
    while *state == State::Idle {
        state = CHANGED.wait(state);
    }
    *state == State::Trying
}

/// Whether the thread has been trying since the last call, and sleeps. If it is not trying, it begins.
pub fn is_kept_out() -> bool {
    {
        let mut state = STATE.lock();
        if *state == State::Idle {
            *state = State::Trying;
            CHANGED.notify_all();
            return false;
        }
    }
    let thread = THREAD.load(Ordering::SeqCst);
    thread != 0 && is_asleep(thread)
}

/// From this version on the thread that wants to collect does not sleep (JDK-8192647).
const SPINS_SINCE: u32 = 25;

/// The thread that has the VM's lock at which the one that tries waits: the one that wants to collect, where that
/// does not sleep.
pub fn kept_out_by() -> Option<i32> {
    lock_owner::of(THREAD.load(Ordering::SeqCst))
}

/// Whether whoever wants to collect is either found by that or sleeps.
pub fn is_sure_of_who() -> bool {
    jvm::get().feature_version() < SPINS_SINCE || lock_owner::is_shown()
}

/// Ends the thread, if it is not kept out.
pub fn stop() {
    *STATE.lock() = State::Over;
    CHANGED.notify_all();
}
