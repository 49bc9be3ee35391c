//! A thread's own part in its suspension: the signal handler.
//!
//! A stopped thread waits in its signal handler. It may have been stopped anywhere, with a lock of
//! the VM in its hands, and meanwhile the VM cannot reach a safepoint. So it waits for a short time
//! only; if it has not been resumed by then, it hands itself over to JVMTI (see `takeover`), which
//! stops it where the VM can do without it.

use super::stop::state::*;
use super::stop::{NOISE, Stop};
use super::{futex, interruption, takeover};
use crate::world::cpu_clock;
use crate::world::phase::{self, Phase};
use crate::world::threads::Thread;
use std::ffi::c_void;
use std::hint;
use std::sync::atomic::{AtomicI32, Ordering};

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
