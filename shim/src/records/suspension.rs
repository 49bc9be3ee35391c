//! The suspension of a thread, and the thread that suspended it.

use super::agents::{Agent, AgentSet};
use jvm::platform::futex;
use jvm::platform::os_thread::os_thread;
use jvm::platform::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicU32, Ordering};

/// The thread is not suspended.
pub const RUNNING: u32 = 0;
/// JVMTI has suspended the thread, for an agent or for others ([`Suspension::by_others`]).
pub const SUSPENDED: u32 = 1;
/// An agent called SuspendThread, but the thread keeps running: another JVMTI agent of the process has
/// `can_suspend`.
pub const UNSTOPPED: u32 = 2;

/// The suspension of one thread. Changed only under the lock that
/// [`for_resuming`](crate::sync::vm_locks::for_resuming) takes.
#[derive(Default)]
pub struct Suspension {
    /// [`RUNNING`], [`SUSPENDED`] or [`UNSTOPPED`]; the word that [`Self::wait_until_resumed`] waits for.
    state: AtomicU32,
    /// The agents that have suspended the thread, as an [`AgentSet`].
    agents: AtomicU8,
    /// The OS thread that called SuspendThread last, 0 for none.
    suspender: AtomicI32,
    /// The number of threads that this thread has suspended for an agent and not resumed.
    suspends: AtomicU32,
    /// The answer of ThreadHasRun: true if the thread had used CPU time when it was suspended.
    pub ran: AtomicBool,
    /// True if the program or another JVMTI agent had already suspended the thread. Then the shim must not
    /// resume it.
    pub by_others: AtomicBool,
}

impl Suspension {
    pub fn state(&self) -> u32 {
        self.state.load(Ordering::SeqCst)
    }

    /// Sets the state and wakes the thread if it waits in [`Self::wait_until_resumed`].
    pub fn set_state(&self, state: u32) {
        self.state.store(state, Ordering::SeqCst);
        if state != SUSPENDED {
            futex::wake(&self.state);
        }
    }

    /// Returns true if the thread executes no Java code until an agent resumes it.
    pub fn is_suspended(&self) -> bool {
        self.state() == SUSPENDED
    }

    /// Returns true if an agent has suspended the thread and not resumed it, even if the thread keeps
    /// running ([`UNSTOPPED`]).
    pub fn is_requested(&self) -> bool {
        self.agents.load(Ordering::Relaxed) != 0
    }

    /// Returns true if JVMTI reports the thread as suspended only because a JVMPI agent has suspended it.
    pub fn is_ours(&self) -> bool {
        self.is_suspended() && !self.by_others.load(Ordering::SeqCst)
    }

    /// Returns the OS thread that suspended this one and should resume it. None if it is not suspended.
    pub fn suspender(&self) -> Option<i32> {
        let suspender = || self.suspender.load(Ordering::SeqCst);
        self.is_suspended().then(suspender).filter(|suspender| *suspender != 0)
    }

    /// Returns true if this thread has suspended others for an agent and not resumed all of them.
    pub fn suspends_others(&self) -> bool {
        self.suspends.load(Ordering::Relaxed) > 0
    }

    /// Records that this thread has suspended one more thread, or resumed one.
    pub fn count_suspended(&self, is_one_more: bool) {
        let (add, order) = (if is_one_more { 1 } else { -1 }, Ordering::Relaxed);
        let _ = self.suspends.fetch_update(order, order, |count| count.checked_add_signed(add));
    }

    /// Records that the current thread suspends this one for the agent.
    pub fn hold(&self, agent: &Agent) {
        self.agents.fetch_or(AgentSet::of(agent).0, Ordering::Relaxed);
    }

    /// Records that the current thread has just suspended this one.
    pub fn note_suspender(&self) {
        self.suspender.store(os_thread(), Ordering::SeqCst);
    }

    /// Records that the agent resumes the thread. Returns false if that agent had not suspended it.
    pub fn release(&self, agent: &Agent) -> bool {
        let all = self.agents.fetch_and(!AgentSet::of(agent).0, Ordering::Relaxed);
        AgentSet(all).includes(agent)
    }

    /// Blocks the current thread, which executes native code, until it has been resumed. Calls `before`
    /// first, to release resources that others may need. Returns false if the thread is not suspended.
    pub fn wait_until_resumed(&self, before: impl FnOnce()) -> bool {
        if !self.is_suspended() {
            return false;
        }
        before();
        while self.is_suspended() {
            futex::wait(&self.state, SUSPENDED, None);
        }
        true
    }
}
