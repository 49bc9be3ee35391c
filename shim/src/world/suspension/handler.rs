//! A thread's own part in its suspension: the signal handler. It also takes stacks in passing ([`super::in_passing`]).
//!
//! A stopped thread waits in its signal handler. It may have been stopped anywhere, also while it
//! holds a lock of the VM, and meanwhile the VM cannot reach a safepoint. So it waits for a short time
//! only; if it has not been resumed by then, it hands itself over to JVMTI (see `takeover`), which
//! suspends it at a safepoint.

use super::stop::state::*;
use super::stop::{NOISE, Stop};
use super::{futex, interruption, takeover};
use crate::world::cpu_clock;
use crate::world::phase::{self, Phase};
use crate::world::threads::Thread;
use std::ffi::c_void;
use std::hint;
use std::sync::atomic::{AtomicI32, AtomicI64, Ordering};

/// How long a thread spins before it sleeps, in nanoseconds: waking an idle processor takes longer
/// than most suspensions last.
const SPIN: i64 = 50_000;
/// How long a thread on the agent's processor sleeps at a time, in nanoseconds. If the agent woke it,
/// the kernel might run it instead of the agent, for milliseconds.
const NAP: i64 = 100_000;
/// After how many nanoseconds in the handler a thread asks to be taken over.
const OVERDUE_AFTER: i64 = 2_000_000;
/// How long it then waits for a service thread that sleeps in a call of the VM, in nanoseconds. The call may
/// wait for this thread, by whatever lock or safepoint: that cannot be known. If it does, all that the VM
/// stops for waits for so long; if not, the thread runs for a moment although it is suspended. Either is
/// borne by agents, so nothing depends on the number but how often each happens. A service thread that runs
/// or waits for a processor is waited for, and so is one that suspends a thread which does.
const ADRIFT_AFTER: i64 = 20_000_000;
/// How long it sleeps between two looks at the thread that takes it over, in nanoseconds: nothing tells it that
/// the VM has the request, with which it stops a few instructions later. A look takes a tenth of that.
const LOOK: i64 = 50_000;

/// CPU time, in nanoseconds, that the delivery of one signal is likely to cost.
const DELIVERY: i64 = 3_000;
/// CPU time, in nanoseconds, that a thread needs to block again in the system call from which a
/// signal has woken it.
const BLOCKING: i64 = 40_000;

/// The processor on which an agent was when it last suspended a thread.
static AGENT_PROCESSOR: AtomicI32 = AtomicI32::new(-1);

/// Takes note of the processor on which the calling agent is.
pub fn note_agent_processor() {
    AGENT_PROCESSOR.store(processor(), Ordering::Relaxed);
}

fn processor() -> i32 {
    // SAFETY: sched_getcpu has no preconditions, and reads memory that the system keeps for it.
    unsafe { libc::sched_getcpu() }
}

/// The signal handler: stops the current thread if that is still requested.
///
/// It may interrupt anything, and so does nothing but system calls, atomic operations and the walk of
/// the stack.
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
    let mut account = Account::open(stop);
    // The thread may have been detached from the VM since the signal was sent.
    if thread.has_ended() || phase::now() >= Phase::Dead {
        stop.change(REQUESTED, RUNNING);
        stop.glance.give_up();
        return;
    }
    if stop.glance.is_asked() {
        // SAFETY: as below.
        unsafe { stop.glance.take(thread.env(), context) };
        // SAFETY: as the caller promises.
        account.glance(unsafe { interruption::is_in_system_call(context) });
        stop.glance.answer();
    }
    stop_here(thread, &account, || {
        // SAFETY: the thread has not ended, so it is attached, and the record is its own: the
        // signal went to the thread whose number the record has, which has set `has_ended` before
        // it could become another.
        unsafe { stop.trace.take(thread.env(), context) };
        // SAFETY: as the caller promises.
        stop.was_blocked
            .store(unsafe { interruption::is_in_system_call(context) }, Ordering::SeqCst);
    });
}

/// Stops the current thread if that is still requested, after `look` has taken what is shown of it.
fn stop_here(thread: &Thread, account: &Account<'_>, look: impl FnOnce()) {
    let stop = &thread.stop;
    if stop.state() == REQUESTED {
        look();
        stop.ran.store(account.has_run, Ordering::SeqCst);
        stop.is_traced.store(true, Ordering::SeqCst);
        if stop.change(REQUESTED, STOPPED) {
            stop.wake_others();
            wait(thread, account);
            return;
        }
        stop.is_traced.store(false, Ordering::SeqCst);
    }
    account.close(false);
}

/// As [`in_handler`], for a thread without a VM that was told of the signal in another way.
#[cfg(test)]
pub fn in_handler_for_test(thread: &Thread) {
    let stop = &thread.stop;
    stop.is_inside.store(true, Ordering::SeqCst);
    stop.is_signalled.store(false, Ordering::SeqCst);
    stop_here(thread, &Account::open(stop), || ());
    stop.is_inside.store(false, Ordering::SeqCst);
}

/// Waits in the handler until the thread may leave it.
fn wait(thread: &Thread, account: &Account<'_>) {
    let stop = &thread.stop;
    let entered = futex::now();
    let naps = processor() == AGENT_PROCESSOR.load(Ordering::Relaxed);
    stop.naps.store(naps, Ordering::Relaxed);
    let spin_until = if naps { entered } else { entered + SPIN };
    loop {
        let now = futex::now();
        let until = stop.requested().max(entered) + OVERDUE_AFTER;
        match stop.state() {
            STOPPED if now < spin_until => (0..16).for_each(|_| hint::spin_loop()),
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
            OVERDUE if now >= until + ADRIFT_AFTER && takeover::may_be_held_up() => {
                stop.change(OVERDUE, ADRIFT);
            }
            OVERDUE => {
                let left = until + ADRIFT_AFTER - now;
                let time = if left > 0 { left } else { OVERDUE_AFTER };
                futex::wait(&stop.state, OVERDUE, Some(time));
            }
            LEAVING => {
                account.close(true);
                if stop.change(LEAVING, RUNNING) {
                    return;
                }
            }
            TAKEOVER if !stop.taker.has_slept() => {
                futex::wait(&stop.state, TAKEOVER, Some(LOOK));
            }
            _ => {
                account.close(true);
                return;
            }
        }
    }
}

/// Accounts for the thread's CPU time: whether the thread has run since the last account, the time
/// that it spends in the handler left out.
struct Account<'a> {
    stop: &'a Stop,
    entered: i64,
    has_run: bool,
    /// If the stack was taken in passing, whether the thread was blocked in a system call.
    glanced: Option<bool>,
}

impl<'a> Account<'a> {
    fn open(stop: &'a Stop) -> Self {
        let entered = cpu_clock::current();
        let has_run = entered - stop.accounted.load(Ordering::SeqCst) > NOISE;
        Self { stop, entered, has_run, glanced: None }
    }

    /// Called when the stack was taken in passing.
    fn glance(&mut self, was_blocked: bool) {
        self.glanced = Some(was_blocked);
        self.settle(&self.stop.glance.accounted, true, was_blocked);
    }

    /// Called when the handler is over; `is_shown` is whether agents could see that the thread has run.
    fn close(&self, is_shown: bool) {
        let was_blocked = is_shown && self.stop.was_blocked.load(Ordering::SeqCst);
        self.settle(&self.stop.accounted, is_shown && self.has_run, was_blocked);
        let was_blocked = self.glanced == Some(true);
        self.settle(&self.stop.glance.accounted, self.glanced.is_some(), was_blocked);
    }

    fn settle(&self, accounted: &AtomicI64, is_shown: bool, was_blocked: bool) {
        let now = cpu_clock::current();
        let until = if is_shown {
            now
        } else {
            // What the thread itself has used is counted later, when it is more or agents can see it.
            accounted.load(Ordering::SeqCst) + (now - self.entered) + DELIVERY
        };
        let until = if was_blocked { until.max(now + BLOCKING) } else { until };
        accounted.store(until, Ordering::SeqCst);
    }
}
