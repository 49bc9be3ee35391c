//! The state of each thread's suspension.

use super::futex;
use super::glance::Glance;
use super::link::Link;
use super::sampling::History;
use super::taker::Taker;
use super::trace::Trace;
use crate::world::agents::Agent;
use crate::world::threads::os_thread::os_thread;
use state::*;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU8, AtomicU32, Ordering};

/// The states. "Agent" is any caller of the functions of `suspension`.
pub mod state {
    /// The thread is not suspended.
    pub const RUNNING: u32 = 0;
    /// The agent has suspended it, and it has been sent a signal. It runs the handler before any
    /// more code of its own, so it is as good as stopped unless it is on a processor just now.
    pub const REQUESTED: u32 = 1;
    /// It is in the handler, has taken its stack, and spins on this word.
    pub const STOPPED: u32 = 2;
    /// It is in the handler and sleeps until this word is woken.
    pub const ASLEEP: u32 = 3;
    /// The agent has resumed it, and it has not left the handler yet.
    pub const LEAVING: u32 = 4;
    /// It has been in the handler for too long and asks the service thread to take over.
    pub const OVERDUE: u32 = 5;
    /// It has given up waiting for the service thread, and runs until that takes over.
    pub const ADRIFT: u32 = 6;
    /// Another thread suspends it by JVMTI. It leaves the handler when that thread waits for it.
    pub const TAKEOVER: u32 = 7;
    /// As before, but the agent has resumed it meanwhile.
    pub const UNWANTED: u32 = 8;
    /// JVMTI has suspended it, for the shim or for others ([`super::Stop::by_others`]).
    pub const SUSPENDED: u32 = 9;
    /// The agent has suspended it, but it runs: another agent of the process has can_suspend.
    pub const LOOSE: u32 = 10;
}

/// CPU time, in nanoseconds, that does not count as the thread's own: its clock includes what the
/// kernel spends on the signal's delivery.
pub const NOISE: i64 = 20_000;

/// A thread's suspension.
#[derive(Default)]
pub struct Stop {
    /// One of [`state`]; also what threads wait for.
    pub(super) state: AtomicU32,
    /// How many threads wait for it to change, besides the thread itself in its handler.
    awaited_by: AtomicU32,
    /// Whether a signal is on its way.
    pub(super) is_signalled: AtomicBool,
    /// Whether the thread is in the handler.
    pub(super) is_inside: AtomicBool,
    /// When an agent last suspended it, by [`futex::now`].
    requested: AtomicI64,
    /// Its CPU time then.
    cpu_at_request: AtomicI64,
    /// Whether it sleeps in naps, and need not be woken.
    pub(super) naps: AtomicBool,
    /// Its CPU time up to which agents have been shown whether it has run.
    pub accounted: AtomicI64,
    /// Whether it had run when it was stopped.
    pub ran: AtomicBool,
    /// Its stack when it was stopped.
    pub trace: Trace,
    /// Whether it was blocked in a system call when it was stopped. That happens in the VM's own code
    /// only: a thread in a native method is suspended by JVMTI.
    pub was_blocked: AtomicBool,
    /// What is taken of it while it is not suspended.
    pub glance: Glance,
    /// Whether the trace is of the time [`Self::accounted`].
    pub is_traced: AtomicBool,
    /// Its state as JVMTI gave it last, and when that was, by [`futex::now`].
    pub seen_state: AtomicI32,
    pub seen_at: AtomicI64,
    /// Its earlier suspensions.
    pub history: History,
    /// Whether it blocks signals.
    pub is_deaf: AtomicBool,
    /// Whether the record is kept for the handler.
    pub is_kept: AtomicBool,
    /// Its link in the list of threads that wait for the service thread.
    pub queue: Link,
    /// Who takes it over.
    pub(super) taker: Taker,
    /// The agents that have suspended it, a bit for each. Changed only under the claims to suspend and
    /// to resume.
    agents: AtomicU8,
    /// The OS thread that last suspended it for an agent.
    suspender: AtomicI32,
    /// Whether others had suspended it before JVMTI was asked to: then the shim must not resume it.
    pub by_others: AtomicBool,
}

/// Of [`Stop::agents`].
fn bit(agent: &Agent) -> u8 {
    1 << agent.index
}

impl Stop {
    pub fn state(&self) -> u32 {
        self.state.load(Ordering::SeqCst)
    }

    /// Goes from one state to another; false if it is not in `from`.
    pub fn change(&self, from: u32, to: u32) -> bool {
        self.state.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// Wakes all that wait for the state, also the thread in its handler.
    pub fn wake(&self) {
        futex::wake(&self.state);
    }

    /// Wakes those that wait in [`Self::wait_while`].
    pub fn wake_others(&self) {
        if self.awaited_by.load(Ordering::SeqCst) > 0 {
            self.wake();
        }
    }

    /// Waits until the state is not this one any more, or until that time; false if it still is.
    pub fn wait_while(&self, state: u32, until: i64) -> bool {
        while self.state() == state {
            let left = until - futex::now();
            if left <= 0 {
                return false;
            }
            self.awaited_by.fetch_add(1, Ordering::SeqCst);
            futex::wait(&self.state, state, Some(left));
            self.awaited_by.fetch_sub(1, Ordering::SeqCst);
        }
        true
    }

    /// When an agent last suspended it, by [`futex::now`].
    pub fn requested(&self) -> i64 {
        self.requested.load(Ordering::SeqCst)
    }

    /// Takes note that an agent suspends it now.
    pub fn note_request(&self) {
        self.requested.store(futex::now(), Ordering::SeqCst);
    }

    /// As [`Self::note_request`], with the thread's CPU time.
    pub fn request(&self, cpu: i64) {
        self.note_request();
        self.cpu_at_request.store(cpu, Ordering::SeqCst);
    }

    /// Its CPU time when an agent last suspended it.
    pub fn cpu_at_request(&self) -> i64 {
        self.cpu_at_request.load(Ordering::SeqCst)
    }

    /// Whether it seemed to have run when an agent last suspended it.
    pub fn may_have_run(&self) -> bool {
        self.cpu_at_request() - self.accounted.load(Ordering::SeqCst) > NOISE
    }

    /// If it is suspended, the OS thread that has done that for an agent, and can be expected to resume
    /// it.
    pub fn suspender(&self) -> Option<i32> {
        let suspender = || self.suspender.load(Ordering::SeqCst);
        self.is_suspended().then(suspender).filter(|suspender| *suspender != 0)
    }

    /// Takes note that the current thread suspends it.
    pub fn note_suspender(&self) {
        self.suspender.store(os_thread(), Ordering::SeqCst);
    }

    /// Makes a record without a VM look as if that OS thread had suspended it.
    #[cfg(test)]
    pub fn suspend_for_test(&self, suspender: i32) {
        self.suspender.store(suspender, Ordering::SeqCst);
        self.state.store(SUSPENDED, Ordering::SeqCst);
    }

    #[cfg(test)]
    pub fn resume_for_test(&self) {
        self.state.store(RUNNING, Ordering::SeqCst);
    }

    /// Takes note that the agent suspends it.
    pub fn hold(&self, agent: &Agent) {
        self.agents.fetch_or(bit(agent), Ordering::Relaxed);
    }

    /// Takes note that the agent resumes it; false if it had not suspended it.
    pub fn let_go(&self, agent: &Agent) -> bool {
        self.agents.fetch_and(!bit(agent), Ordering::Relaxed) & bit(agent) != 0
    }

    /// Whether some agent has suspended and not resumed it.
    pub fn is_held(&self) -> bool {
        self.agents.load(Ordering::Relaxed) != 0
    }

    /// Whether the state is one of a suspended thread.
    pub fn is_suspended(&self) -> bool {
        !matches!(self.state(), RUNNING | LEAVING | UNWANTED | LOOSE)
    }

    /// Whether JVMTI shows the thread as suspended because an agent has suspended it.
    pub fn shows(&self) -> bool {
        let by_others = self.state() == SUSPENDED && self.by_others.load(Ordering::SeqCst);
        self.is_suspended() && !by_others
    }

    /// For the current thread, in native code: waits until it has been resumed. Calls `before` first, to
    /// release what others may need. False if it is not suspended.
    pub fn wait_until_resumed(&self, before: impl FnOnce()) -> bool {
        // As good as suspended: by JVMTI, which stops it at the next call of the VM, or by a signal that
        // it blocks.
        let is_suspended = |state| !matches!(state, RUNNING | LEAVING | LOOSE);
        if !is_suspended(self.state()) {
            return false;
        }
        before();
        loop {
            let state = self.state();
            if !is_suspended(state) {
                return true;
            }
            self.wait_while(state, i64::MAX);
        }
    }

    /// Whether a signal has to be sent: only one is ever pending.
    pub fn needs_signal(&self) -> bool {
        !self.is_signalled.swap(true, Ordering::SeqCst)
    }

    pub fn signal_failed(&self) {
        self.is_signalled.store(false, Ordering::SeqCst);
    }

    /// Whether it was sent a signal and is not in the handler yet.
    pub fn is_coming(&self) -> bool {
        self.state() == REQUESTED && !self.is_inside.load(Ordering::SeqCst)
    }

    /// Whether the handler or the service thread may use the record at any time.
    pub fn is_in_use(&self) -> bool {
        self.is_signalled.load(Ordering::SeqCst)
            || self.is_inside.load(Ordering::SeqCst)
            || self.queue.is_waiting()
    }

    /// Whether it sleeps in naps, and so leaves the handler soon after it may without being woken.
    pub fn naps(&self) -> bool {
        self.naps.load(Ordering::Relaxed)
    }
}
