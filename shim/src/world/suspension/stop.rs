//! What each thread's suspension is at, and the thread's own part in it: the signal handler.
//!
//! A stopped thread waits in its signal handler. It may have been stopped anywhere, with a lock of
//! the VM in its hands, and meanwhile the VM cannot reach a safepoint. So it waits for a short time
//! only; if it has not been resumed by then, it hands itself over to JVMTI (see `takeover`), which
//! stops it where the VM can do without it.

use super::futex;
use super::interruption;
use super::sampling::History;
use super::takeover;
use super::trace::Trace;
use crate::world::agents::Agent;
use crate::world::cpu_clock;
use crate::world::phase::{self, Phase};
use crate::world::threads::Thread;
use std::ffi::c_void;
use std::hint;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU8, AtomicU32, Ordering};

/// What a thread's suspension is at. "Agent" is whoever calls the functions of `suspension`.
pub mod state {
    /// The thread is not suspended.
    pub const RUNNING: u32 = 0;
    /// The agent wants it stopped, and it has been sent a signal. It runs the handler before any
    /// more code of its own, so it is as good as stopped unless it is on a processor just now.
    pub const REQUESTED: u32 = 1;
    /// It is in the handler, has taken its stack, and watches this word.
    pub const STOPPED: u32 = 2;
    /// It is in the handler and sleeps until this word is woken.
    pub const ASLEEP: u32 = 3;
    /// The agent has resumed it, and it has not left the handler yet.
    pub const LEAVING: u32 = 4;
    /// It has been in the handler for too long and asks the service thread to take over.
    pub const OVERDUE: u32 = 5;
    /// It could not wait for the service thread any longer, and runs until that has come.
    pub const ADRIFT: u32 = 6;
    /// It leaves the handler, and someone is suspending it by JVMTI.
    pub const TAKEOVER: u32 = 7;
    /// As before, but the agent has resumed it meanwhile.
    pub const UNWANTED: u32 = 8;
    /// It is suspended as JVMTI does it, by the shim or by somebody else ([`super::Stop::by_others`]).
    pub const SUSPENDED: u32 = 9;
    /// The agent wants it stopped, but only another agent of the process could do that: it runs.
    pub const LOOSE: u32 = 10;
}
use state::*;

/// How long a thread watches before it sleeps, in nanoseconds: waking an idle processor takes
/// longer than most suspensions last.
const WATCH: i64 = 50_000;
/// How long a thread naps, in nanoseconds, that runs on the agent's processor. If the agent woke
/// it, it would push the agent off the processor for milliseconds.
const NAP: i64 = 100_000;
/// How long a thread stays in the handler, in nanoseconds, before it asks to be taken over.
const PATIENCE: i64 = 2_000_000;
/// How long it then waits for a service thread that is in a call of the VM, in nanoseconds. That is a
/// guess: nobody can tell whether the call waits for this thread. If it does, all that the VM stops for
/// waits for so long; if not, the thread runs for a moment although it is suspended.
const LAST_PATIENCE: i64 = 20_000_000;
/// How long it stays, in nanoseconds, after JVMTI was called to suspend it. Then the VM has been
/// told, and the thread stops a few instructions later.
const GRACE: i64 = 200_000;

/// CPU time, in nanoseconds, that does not count as the thread's own: what the system spends on
/// the signal's delivery is in the clock but in no one's sight.
pub const NOISE: i64 = 20_000;
/// What of that one signal is likely to have cost.
const DELIVERY: i64 = 3_000;
/// CPU time, in nanoseconds, that a thread needs to block again in the system call from which a
/// signal has woken it.
const BLOCKING: i64 = 40_000;

/// The processor on which an agent was when it last suspended a thread.
static AGENT_PROCESSOR: AtomicI32 = AtomicI32::new(-1);

/// Takes note of where the agent that runs is.
pub fn note_agent_processor() {
    AGENT_PROCESSOR.store(processor(), Ordering::Relaxed);
}

fn processor() -> i32 {
    // SAFETY: sched_getcpu has no preconditions, and reads memory that the system keeps for it.
    unsafe { libc::sched_getcpu() }
}

/// A thread's suspension.
#[derive(Default)]
pub struct Stop {
    /// One of [`state`]; also what threads wait for.
    state: AtomicU32,
    /// How many wait for it to change, the thread in its handler left out.
    awaited_by: AtomicU32,
    /// Whether a signal is on its way.
    is_signalled: AtomicBool,
    /// Whether the thread is in the handler.
    is_inside: AtomicBool,
    /// When the agent last wanted it stopped, by [`futex::now`].
    requested: AtomicI64,
    /// Its CPU time then.
    cpu_at_request: AtomicI64,
    /// Whether it sleeps in naps, and need not be woken.
    naps: AtomicBool,
    /// Its CPU time up to which agents know that it has run, or it has not.
    pub accounted: AtomicI64,
    /// Whether it had run when it was stopped.
    pub ran: AtomicBool,
    /// Its stack when it was stopped.
    pub trace: Trace,
    /// Whether it was blocked in a system call when it was stopped. Only the VM's own code is: JVMTI
    /// says so of a thread in a native method.
    pub was_blocked: AtomicBool,
    /// Whether the trace is of the time [`Self::accounted`].
    pub is_traced: AtomicBool,
    /// What JVMTI last said of it, and when that was, by [`futex::now`].
    pub seen_state: AtomicI32,
    pub seen_at: AtomicI64,
    /// How it was suspended before.
    pub history: History,
    /// Whether signals do not reach it.
    pub is_deaf: AtomicBool,
    /// Whether the record is being kept for the handler's sake.
    pub is_kept: AtomicBool,
    /// Its place among those that wait for the service thread.
    pub queue: takeover::Link,
    /// The agents that have suspended it, a bit for each. Changed only by whoever suspends or resumes
    /// it, one at a time.
    agents: AtomicU8,
    /// Whether somebody else had suspended it when JVMTI was asked to: that is not ours to undo.
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

    /// Goes from one state to another; false if it is in neither of them.
    pub fn change(&self, from: u32, to: u32) -> bool {
        self.state.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// Wakes whoever waits for the state.
    pub fn wake(&self) {
        futex::wake(&self.state);
    }

    /// Wakes those that have come through [`Self::wait_while`].
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

    /// When the agent last wanted it stopped, by [`futex::now`].
    pub fn requested(&self) -> i64 {
        self.requested.load(Ordering::SeqCst)
    }

    /// Takes note that the agent wants it stopped.
    pub fn note_request(&self) {
        self.requested.store(futex::now(), Ordering::SeqCst);
    }

    /// As [`Self::note_request`], with the thread's CPU time.
    pub fn request(&self, cpu: i64) {
        self.note_request();
        self.cpu_at_request.store(cpu, Ordering::SeqCst);
    }

    /// Its CPU time when the agent last wanted it stopped.
    pub fn cpu_at_request(&self) -> i64 {
        self.cpu_at_request.load(Ordering::SeqCst)
    }

    /// Whether it seemed to have run when the agent last wanted it stopped.
    pub fn may_have_run(&self) -> bool {
        self.cpu_at_request() - self.accounted.load(Ordering::SeqCst) > NOISE
    }

    /// Takes note that the agent has suspended it.
    pub fn hold(&self, agent: &Agent) {
        self.agents.fetch_or(bit(agent), Ordering::Relaxed);
    }

    /// Takes note that the agent has resumed it; false if it had not suspended it.
    pub fn let_go(&self, agent: &Agent) -> bool {
        self.agents.fetch_and(!bit(agent), Ordering::Relaxed) & bit(agent) != 0
    }

    /// Whether some agent has it suspended.
    pub fn is_held(&self) -> bool {
        self.agents.load(Ordering::Relaxed) != 0
    }

    /// Whether a signal has to be sent: only one is ever on its way.
    pub fn needs_signal(&self) -> bool {
        !self.is_signalled.swap(true, Ordering::SeqCst)
    }

    pub fn signal_failed(&self) {
        self.is_signalled.store(false, Ordering::SeqCst);
    }

    /// Whether the handler may look at the record at any time.
    pub fn is_in_use(&self) -> bool {
        self.is_signalled.load(Ordering::SeqCst)
            || self.is_inside.load(Ordering::SeqCst)
            || self.queue.is_waiting()
    }

    /// Whether it leaves the handler by itself soon after it may.
    pub fn naps(&self) -> bool {
        self.naps.load(Ordering::Relaxed)
    }
}

/// The signal handler: stops the thread that runs if that is still wanted.
///
/// It may interrupt anything, and so does nothing but system calls and atomic operations, and
/// walks the stack.
///
/// # Safety
/// Called in a signal handler with its context; `thread` is the record that the signal was sent
/// for.
pub unsafe fn in_handler(thread: &Thread, context: *mut c_void) {
    thread.stop.is_inside.store(true, Ordering::SeqCst);
    thread.stop.is_signalled.store(false, Ordering::SeqCst);
    // SAFETY: as the caller promises.
    unsafe { stop_if_wanted(thread, context) };
    thread.stop.is_inside.store(false, Ordering::SeqCst);
}

/// # Safety
/// As for [`in_handler`].
unsafe fn stop_if_wanted(thread: &Thread, context: *mut c_void) {
    let stop = &thread.stop;
    let account = Account::open(stop);
    // The record may be that of a Java thread which this thread is not any more.
    if thread.has_ended() || phase::now() >= Phase::Dead {
        stop.change(REQUESTED, RUNNING);
        return;
    }
    if stop.state() == REQUESTED {
        // SAFETY: the thread has not ended, so it is attached, and the record is its own: the
        // signal went to the thread whose number the record has, which has set `has_ended` before
        // it could become another.
        unsafe { stop.trace.take(thread.env(), context) };
        stop.ran.store(account.has_run, Ordering::SeqCst);
        // SAFETY: as the caller promises.
        stop.was_blocked
            .store(unsafe { interruption::is_in_system_call(context) }, Ordering::SeqCst);
        stop.is_traced.store(true, Ordering::SeqCst);
        if stop.change(REQUESTED, STOPPED) {
            stop.wake_others();
            wait(thread, &account);
            return;
        }
        stop.is_traced.store(false, Ordering::SeqCst);
    }
    account.close(false);
}

/// Waits in the handler until the thread may leave it.
fn wait(thread: &Thread, account: &Account<'_>) {
    let stop = &thread.stop;
    let entered = futex::now();
    let naps = processor() == AGENT_PROCESSOR.load(Ordering::Relaxed);
    stop.naps.store(naps, Ordering::Relaxed);
    let watch_until = if naps { entered } else { entered + WATCH };
    loop {
        let now = futex::now();
        let until = stop.requested().max(entered) + PATIENCE;
        match stop.state() {
            STOPPED if now < watch_until => (0..16).for_each(|_| hint::spin_loop()),
            STOPPED => {
                stop.change(STOPPED, ASLEEP);
            }
            ASLEEP if now >= until => {
                if stop.change(ASLEEP, OVERDUE) {
                    takeover::ask_for(thread);
                }
            }
            ASLEEP => {
                let time = if naps { NAP.min(until - now) } else { until - now };
                futex::wait(&stop.state, ASLEEP, Some(time));
            }
            OVERDUE if now >= until + LAST_PATIENCE && takeover::may_be_held_up() => {
                stop.change(OVERDUE, ADRIFT);
            }
            OVERDUE => {
                let left = until + LAST_PATIENCE - now;
                let time = if left > 0 { left } else { PATIENCE };
                futex::wait(&stop.state, OVERDUE, Some(time));
            }
            LEAVING => {
                account.close(true);
                if stop.change(LEAVING, RUNNING) {
                    return;
                }
            }
            left => {
                if left == TAKEOVER {
                    futex::wait(&stop.state, TAKEOVER, Some(GRACE));
                }
                account.close(true);
                return;
            }
        }
    }
}

/// What the handler makes of the thread's CPU time: whether the thread has run since it was last
/// accounted for, and that the handler's own time is not the thread's.
struct Account<'a> {
    stop: &'a Stop,
    entered: i64,
    has_run: bool,
}

impl<'a> Account<'a> {
    fn open(stop: &'a Stop) -> Self {
        let entered = cpu_clock::current();
        let has_run = entered - stop.accounted.load(Ordering::SeqCst) > NOISE;
        Self { stop, entered, has_run }
    }

    /// Called when the handler is over; `told` is whether agents could see that it has run.
    fn close(&self, told: bool) {
        let now = cpu_clock::current();
        let accounted = if told && self.has_run {
            now
        } else {
            // To be counted later, when it has become more or somebody can see it.
            self.stop.accounted.load(Ordering::SeqCst) + (now - self.entered) + DELIVERY
        };
        let was_blocked = told && self.stop.was_blocked.load(Ordering::SeqCst);
        let accounted = if was_blocked { accounted.max(now + BLOCKING) } else { accounted };
        self.stop.accounted.store(accounted, Ordering::SeqCst);
    }
}
