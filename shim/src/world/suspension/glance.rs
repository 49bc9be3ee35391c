//! What is taken of a thread while it is not suspended, and the handler's part in that ([`super::in_passing`]).

use super::trace::Trace;
use crate::jvm::async_call_trace::RawFrame;
use crate::world::agents::Agent;
use jni_sys::JNIEnv;
use std::ffi::c_void;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicUsize, Ordering};

/// The handler has nothing to do.
const IDLE: u32 = 0;
/// The handler is to take the stack.
const ASKED: u32 = 1;
/// The handler has taken the stack, which nobody has asked for yet.
const TAKEN: u32 = 2;

/// [`Glance::shown`] while there is none.
const NONE: usize = usize::MAX;

/// The stack of a thread, taken in passing. All but what the handler does is done under the claim to look at
/// stacks ([`to_resume`]).
///
/// [`to_resume`]: crate::world::order::claims::to_resume
pub struct Glance {
    /// [`IDLE`], [`ASKED`] or [`TAKEN`].
    state: AtomicU32,
    /// The index of the agent that asked last, of whom no other gets the stack.
    asker: AtomicUsize,
    /// The half of the trace that `GetCallTrace` gives next, or [`NONE`]. The handler fills the other one.
    shown: AtomicUsize,
    /// The thread's CPU time when it was asked.
    cpu_when_asked: AtomicI64,
    /// Its CPU time up to which the answer was yes.
    pub accounted: AtomicI64,
    trace: Trace,
}

impl Default for Glance {
    fn default() -> Self {
        Self {
            state: AtomicU32::new(IDLE),
            asker: AtomicUsize::new(NONE),
            shown: AtomicUsize::new(NONE),
            cpu_when_asked: AtomicI64::new(0),
            accounted: AtomicI64::new(0),
            trace: Trace::default(),
        }
    }
}

impl Glance {
    fn change(&self, from: u32, to: u32) -> bool {
        self.state.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// Whether the handler is to take the stack.
    pub fn is_asked(&self) -> bool {
        self.state.load(Ordering::SeqCst) == ASKED
    }

    /// Asks a thread, which nobody has asked and which has used so much CPU time, for its stack: its handler
    /// takes it when a signal comes.
    pub fn ask(&self, agent: &Agent, cpu: i64) {
        self.trace.allocate();
        if self.asker.swap(agent.index, Ordering::SeqCst) != agent.index {
            self.shown.store(NONE, Ordering::SeqCst);
        }
        self.cpu_when_asked.store(cpu, Ordering::SeqCst);
        self.state.store(ASKED, Ordering::SeqCst);
    }

    /// The thread's CPU time when it was asked.
    pub fn cpu_when_asked(&self) -> i64 {
        self.cpu_when_asked.load(Ordering::SeqCst)
    }

    /// In the handler: takes the stack.
    ///
    /// # Safety
    /// As for [`Trace::take`].
    pub unsafe fn take(&self, env: *mut JNIEnv, context: *mut c_void) {
        // SAFETY: as the caller promises.
        unsafe { self.trace.take(env, context) };
    }

    /// In the handler: the stack may be read.
    pub fn answer(&self) {
        self.change(ASKED, TAKEN);
    }

    /// The handler cannot, or does not, take the stack.
    pub fn give_up(&self) {
        self.change(ASKED, IDLE);
    }

    /// Makes the stack that has been taken the one that `GetCallTrace` gives.
    pub fn show(&self) {
        if self.change(TAKEN, IDLE) {
            self.shown.store(self.trace.current(), Ordering::SeqCst);
        }
    }

    /// Whether it is this agent that asked last.
    pub fn is_asked_by(&self, agent: &Agent) -> bool {
        self.asker.load(Ordering::SeqCst) == agent.index
    }

    /// Whether there is a stack for `GetCallTrace` to give.
    pub fn has_stack(&self) -> bool {
        self.shown.load(Ordering::SeqCst) != NONE
    }

    /// The innermost `depth` frames of the stack that `GetCallTrace` is to give now, once.
    pub fn give(&self, depth: usize) -> Option<&[RawFrame]> {
        let half = self.shown.swap(NONE, Ordering::SeqCst);
        (half != NONE).then(|| self.trace.half(half, depth)).flatten()
    }
}
