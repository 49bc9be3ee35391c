//! Work that one thread does at a time for all: bringing the VM in line with what agents want.
//!
//! It calls the VM, so no lock is held meanwhile. A thread that comes while another one works waits
//! for its turn, as its request is to be in force when it goes on. But the worker may be waiting for
//! this thread: for a lock of the agent's, for a monitor, or to be resumed. Then the thread leaves its
//! request to the worker, which looks once more before it ends.

use crate::jvm::Jni;
use crate::lock::{Condition, Lock};
use crate::suspension::executing;
use crate::threads::{self, Thread};
use jni_sys::{JNIEnv, jint};
use jvmti_sys::{
    JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER, JVMTI_THREAD_STATE_SUSPENDED,
    JVMTI_THREAD_STATE_WAITING,
};
use std::time::Duration;

/// Work that is done by one thread at a time.
pub struct Turn {
    state: Lock<State>,
    over: Condition,
}

struct State {
    worker: Option<Worker>,
    /// Whether a thread has left its request to the worker.
    again: bool,
}

#[derive(Clone, Copy)]
struct Worker {
    env: *mut JNIEnv,
    /// How many events were in flight on its thread when it began.
    events: u32,
}

// SAFETY: the environment is only an identity here.
unsafe impl Send for Worker {}

/// How often a waiting thread looks whether the worker waits for it.
const LOOK: Duration = Duration::from_millis(1);

impl Turn {
    pub const fn new() -> Self {
        Self { state: Lock::new(State { worker: None, again: false }), over: Condition::new() }
    }

    /// Works on the current thread when its turn has come, and again if others have left their requests
    /// to it; returns the last result. None if it has left its own request to another worker.
    pub fn run<R>(&self, jni: Jni, mut work: impl FnMut() -> R) -> Option<R> {
        let mut turn = self.take(jni)?;
        loop {
            let result = work();
            match turn.pass_on() {
                Some(again) => turn = again,
                None => return Some(result),
            }
        }
    }

    /// Whether no thread works. One that begins after this has returned true sees all requests that
    /// were made before the call.
    pub fn is_free(&self) -> bool {
        self.state.lock().worker.is_none()
    }

    /// Leaves the current thread's request to the worker; false if there is none.
    pub fn leave(&self) -> bool {
        let mut state = self.state.lock();
        let is_taken = state.worker.is_some();
        state.again |= is_taken;
        is_taken
    }

    fn take(&self, jni: Jni) -> Option<Taken<'_>> {
        let me = threads::current(jni);
        let mut state = self.state.lock();
        while let Some(worker) = state.worker {
            drop(state);
            let is_stuck = worker.env == me.env() || worker.may_wait_for_others();
            state = self.state.lock();
            // If the worker has ended meanwhile, it does not look again.
            if is_stuck && state.worker.is_some() {
                state.again = true;
                return None;
            }
            if state.worker.is_some() {
                state = self.over.wait_for(state, LOOK).0;
            }
        }
        *state = State {
            worker: Some(Worker { env: me.env(), events: me.in_flight.count() }),
            again: false,
        };
        Some(Taken(self))
    }
}

impl Worker {
    /// Whether it may wait for another thread: it runs an agent's handler, which may take locks, or it
    /// is blocked or suspended.
    fn may_wait_for_others(self) -> bool {
        let waits = |thread: &Thread| {
            const BLOCKED: jint = JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER
                | JVMTI_THREAD_STATE_WAITING
                | JVMTI_THREAD_STATE_SUSPENDED;
            let state = || executing::jvmti_state(thread);
            thread.in_flight.count() > self.events
                || thread.suspension.is_suspended()
                || state().is_none_or(|state| state & BLOCKED != 0)
        };
        threads::by_env(self.env).is_none_or(|thread| waits(&thread))
    }
}

/// The turn of the current thread, which is passed on when this is dropped.
struct Taken<'a>(&'a Turn);

impl Taken<'_> {
    /// Ends the turn; returns it instead if a thread has left its request meanwhile.
    fn pass_on(self) -> Option<Self> {
        let mut state = self.0.state.lock();
        if std::mem::take(&mut state.again) {
            drop(state);
            return Some(self);
        }
        state.worker = None;
        drop(state);
        self.0.over.notify_all();
        std::mem::forget(self);
        None
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.0.state.lock().worker = None;
        self.0.over.notify_all();
    }
}
