//! Work that one thread at a time does for all threads (a combiner): switching the VM to what agents
//! want.
//!
//! The work calls the VM, so no lock is held meanwhile. A thread that arrives while another one works
//! waits for its turn, because its request must be in force when it continues. But the worker may be
//! waiting for this thread: for a lock of the agent's, for a monitor, or to be resumed. In that case
//! the thread delegates its request to the worker, which does the work once more before it ends.

use crate::suspension::thread_state;
use crate::threads::{self, Thread};
use jni_sys::{JNIEnv, jint};
use jvm::Jni;
use jvm::lock::{Condition, Lock};
use jvm::types::*;
use std::time::Duration;

/// A combiner: work that is done by one thread at a time.
pub struct Combiner {
    state: Lock<State>,
    over: Condition,
}

struct State {
    worker: Option<Worker>,
    /// True if a thread has delegated its request to the worker.
    again: bool,
}

#[derive(Clone, Copy)]
struct Worker {
    env: *mut JNIEnv,
    /// The number of events that were in flight on the worker's thread when it began.
    events: u32,
}

// SAFETY: the environment is only an identity here.
unsafe impl Send for Worker {}

/// The interval at which a waiting thread checks whether the worker is waiting for it.
const LOOK: Duration = Duration::from_millis(1);

impl Combiner {
    pub const fn new() -> Self {
        Self { state: Lock::new(State { worker: None, again: false }), over: Condition::new() }
    }

    /// Waits for the current thread's turn and does the work, again as long as others delegate their
    /// requests to it. Returns the last result, or None if this request was delegated to another
    /// worker.
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

    /// Returns true if no thread is working. A worker that begins after this call sees all requests
    /// that were made before it.
    pub fn is_free(&self) -> bool {
        self.state.lock().worker.is_none()
    }

    /// Delegates the current thread's request to the worker. Returns false if there is no worker.
    pub fn delegate(&self) -> bool {
        let mut state = self.state.lock();
        let is_taken = state.worker.is_some();
        state.again |= is_taken;
        is_taken
    }

    fn take(&self, jni: Jni) -> Option<Combining<'_>> {
        let me = threads::current(jni);
        let mut state = self.state.lock();
        while let Some(worker) = state.worker {
            drop(state);
            let is_stuck = worker.env == me.env() || worker.may_wait_for_others();
            state = self.state.lock();
            // A worker that has ended meanwhile does not check again.
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
        Some(Combining(self))
    }
}

impl Worker {
    /// Returns true if the worker may be waiting for another thread: it runs an agent's handler, which
    /// may take locks, or it is blocked or suspended.
    fn may_wait_for_others(self) -> bool {
        let waits = |thread: &Thread| {
            const BLOCKED: jint = JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER
                | JVMTI_THREAD_STATE_WAITING
                | JVMTI_THREAD_STATE_SUSPENDED;
            let state = || thread_state::jvmti_state(thread);
            thread.in_flight.count() > self.events
                || thread.suspension.is_suspended()
                || state().is_none_or(|state| state & BLOCKED != 0)
        };
        threads::by_env(self.env).is_none_or(|thread| waits(&thread))
    }
}

/// The current thread's turn. Dropping it lets the next thread work.
struct Combining<'a>(&'a Combiner);

impl Combining<'_> {
    /// Ends the turn, or returns it if a thread has delegated its request meanwhile.
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

impl Drop for Combining<'_> {
    fn drop(&mut self) {
        self.0.state.lock().worker = None;
        self.0.over.notify_all();
    }
}
