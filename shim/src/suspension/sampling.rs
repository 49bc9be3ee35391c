//! Asynchronous call traces: a thread takes its own trace in a signal handler, and continues at once.
//!
//! The trace shows the very instruction at which the signal interrupted the thread, so a profile of such traces
//! is not biased towards safepoint polls. No thread is stopped, so none can be stopped while it holds a lock of
//! the VM or of the C library.
//!
//! The signal is sent only to a thread that executes Java code and has used CPU time since its last trace.
//! JVMTI provides the trace of all others, and of a thread at whose instruction HotSpot cannot walk the stack.
//!
//! A trace is requested in two places: by SuspendThread (see the parent module), and by `ThreadHasRun` for a
//! thread that is not suspended ([`has_run`]), so that a sampler need not suspend threads.

use super::{cpu_samples, thread_state};
use crate::records::agents::Agent;
use crate::records::phase::{self, Phase};
use crate::sync::vm_locks;
use crate::threads::{self, Thread};
use jvm::async_call_trace::{self, RawFrame};
use jvm::platform::signal::{self, Cause};
use jvm::thread_state::ThreadState;
use jvm::types::JVMTI_THREAD_STATE_SUSPENDED;
use jvmpi_settings::Suspend;
use std::ffi::c_void;
use std::hint;
use std::sync::atomic::{AtomicBool, Ordering};

/// A thread that has used this many nanoseconds of CPU time without running its handler blocks the signal: the
/// kernel delivers a signal before the thread executes another instruction.
const SIGNAL_BLOCKED: i64 = 20_000_000;

/// A thread that has used this many nanoseconds of CPU time since the request has had its signal. The kernel needs less
/// to deliver it.
const SIGNAL_DELIVERED: i64 = 50_000;

/// Installs the signal handler, if the VM and the settings allow it. Only the first call has an effect. It
/// returns true if the handler needs the JVMTI events `ClassLoad` and `ClassPrepare` from now on.
pub fn prepare() -> bool {
    static PREPARED: AtomicBool = AtomicBool::new(false);
    if PREPARED.load(Ordering::SeqCst) || PREPARED.swap(true, Ordering::SeqCst) {
        return false;
    }
    thread_state::prepare();
    jvmpi_settings::get().suspend != Suspend::Jvmti
        && async_call_trace::is_available()
        && signal::install(in_handler)
}

/// Does the work of the signal handler. It may interrupt any code, so it uses only system calls, atomic
/// operations and the walk of the stack.
///
/// # Safety
/// Called in a signal handler with its context.
unsafe fn in_handler(cause: Cause, context: *mut c_void) {
    if let Cause::Timer(slot, count) = cause {
        // SAFETY: as the caller promises.
        return unsafe { cpu_samples::expired(slot, count, context) };
    }
    let Some(thread) = threads::known_current() else { return };
    // A thread that has ended may be detached from the VM.
    let env = thread.vm_env();
    if !env.is_null() && !thread.has_ended() && phase::now() < Phase::Dead {
        // SAFETY: the record is the current thread's, which is attached to the VM and runs in this environment.
        unsafe { thread.sample.take(env, context, || thread.own_cpu_time()) };
    }
}

/// Signals a thread that executes Java code to take its trace. Returns false if that is impossible.
pub fn request(agent: &Agent, thread: &Thread, cpu: i64) -> bool {
    let (sample, os_thread) = (&thread.sample, thread.os_thread());
    let can_be_signalled =
        signal::is_installed() && !sample.blocks_signal.load(Ordering::Relaxed) && os_thread != 0;
    if !can_be_signalled {
        return false;
    }
    sample.request(agent, cpu);
    // A virtual thread that leaves its carrier after this check abandons the request.
    let is_sent = thread.os_thread() == os_thread && signal::send(os_thread);
    if !is_sent {
        sample.settle();
    }
    is_sent
}

/// Returns true if no OS thread runs the thread. Also true if it is a virtual thread, or a carrier that runs
/// one, and is blocked in the VM without being suspended. HotSpot blocks virtual threads where they are mounted
/// and unmounted while any thread asks JVMTI for one.
pub fn waits(thread: &Thread) -> bool {
    let is_blocked_virtual = || {
        let state = thread_state::jvmti_state(thread).unwrap_or(0);
        let is_virtual = thread.is_virtual() || thread_state::is_carrier(state);
        is_virtual && state & JVMTI_THREAD_STATE_SUSPENDED == 0
    };
    thread.is_displaced()
        || thread.vm_state().is_some_and(ThreadState::is_blocked) && is_blocked_virtual()
}

/// Waits for the handler of a thread while the thread is on a processor, where the handler runs within
/// microseconds. A thread that waits for a processor executes the handler before any other code.
pub fn await_handler(thread: &Thread) -> HandlerWait {
    let sample = &thread.sample;
    let requested_at = sample.requested_at.load(Ordering::SeqCst);
    let waited = wait_while_it_runs(|| thread.cpu_time(), requested_at, || sample.is_requested());
    if waited == HandlerWait::SignalBlocked {
        sample.blocks_signal.store(true, Ordering::Relaxed);
        sample.settle();
    }
    waited
}

/// The result of waiting for the handler of a thread.
#[derive(PartialEq, Eq, Debug)]
pub enum HandlerWait {
    /// There is nothing left to wait for.
    Answered,
    /// The thread is on no processor.
    OffProcessor,
    /// The thread blocks the signal.
    SignalBlocked,
}

/// Waits while the thread with this clock is on a processor and `is_awaited` returns true. `cpu` is the
/// thread's CPU time at the request.
fn wait_while_it_runs(
    clock: impl Fn() -> Option<i64>,
    mut cpu: i64,
    is_awaited: impl Fn() -> bool,
) -> HandlerWait {
    let mut first = None;
    while is_awaited() {
        // The clock of a thread that is on a processor advances between any two calls.
        let before = cpu;
        match clock() {
            Some(now) if now != before => cpu = now,
            _ => return HandlerWait::OffProcessor,
        }
        // Not the time at the request: the thread may have run for long between the request and the signal.
        if cpu - *first.get_or_insert(cpu) > SIGNAL_BLOCKED {
            return HandlerWait::SignalBlocked;
        }
        (0..32).for_each(|_| hint::spin_loop());
    }
    HandlerWait::Answered
}

/// Implements `ThreadHasRun` for a thread that is not suspended: true if it is runnable and has used CPU time
/// since the last true result. If it executes Java code, its trace is requested.
///
/// The CPU time of a virtual thread that [`waits`] counts when the agent asks again while the thread runs.
///
/// A thread that has lost its processor, often to the sampler itself, takes the trace when it gets one again.
/// The shim does not wait for that: the agent gets the trace when it asks for the thread the next time.
pub fn has_run(agent: &Agent, thread: &Thread, is_runnable: impl FnOnce() -> bool) -> bool {
    let _lock = vm_locks::for_resuming();
    let sample = &thread.sample;
    sample.show();
    let cpu = thread_state::cpu_time(thread);
    // If the thread has run since the request, the signal is lost: it came under another record.
    let is_delivered = |cpu| cpu - sample.requested_at.load(Ordering::SeqCst) > SIGNAL_DELIVERED;
    let is_lost = || cpu.is_none_or(is_delivered);
    let is_requested = sample.is_requested() && !is_lost();
    if is_requested && sample.is_for(agent) {
        return true;
    }
    let is_shown = sample.is_for(agent) && sample.is_shown();
    let has_run = cpu.is_none_or(|cpu| sample.has_run(cpu));
    let executes = has_run && thread_state::executes_java(thread);
    if !has_run || !executes && (thread.is_displaced() || !is_runnable()) {
        return is_shown;
    }
    let Some(cpu) = cpu else { return true };
    let is_sent = executes && !is_requested && request(agent, thread, cpu);
    if !is_sent && waits(thread) {
        return is_shown;
    }
    if !is_sent && !is_shown {
        // JVMTI provides the trace if the agent requests it.
        sample.accounted.store(cpu, Ordering::SeqCst);
    }
    true
}

/// The trace of a thread that is not suspended.
pub enum Sampled<R> {
    /// The innermost frames when the signal interrupted the thread.
    Frames(R),
    /// The thread has not been on a processor since the request.
    NotYet,
    /// No trace was requested, or the stack could not be walked: JVMTI provides the present one.
    Unknown,
}

/// Passes to `f` the innermost `depth` frames that the thread had when the agent called [`has_run`].
pub fn with_frames<R>(
    agent: &Agent,
    thread: &Thread,
    depth: usize,
    f: impl FnOnce(&[RawFrame]) -> R,
) -> Sampled<R> {
    let sample = &thread.sample;
    if !sample.is_for(agent) {
        return Sampled::Unknown;
    }
    if !sample.is_shown()
        && (await_handler(thread) == HandlerWait::OffProcessor || thread.is_displaced())
    {
        return Sampled::NotYet;
    }
    let _lock = vm_locks::for_resuming();
    if !sample.is_shown() {
        sample.show();
    }
    sample.give(depth).map_or(Sampled::Unknown, |frames| Sampled::Frames(f(frames)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn thread_blocks_the_signal_only_if_it_runs_on_after_it() {
        let wait = |step: i64, answers_after: u32| {
            let calls = Cell::new(0);
            let clock = || {
                calls.set(calls.get() + 1);
                // The thread has run for long before the signal.
                Some(10 * SIGNAL_BLOCKED + step * i64::from(calls.get()))
            };
            wait_while_it_runs(clock, 0, || calls.get() < answers_after)
        };
        assert_eq!(wait(SIGNAL_BLOCKED / 10, 5), HandlerWait::Answered);
        assert_eq!(wait(SIGNAL_BLOCKED / 10, u32::MAX), HandlerWait::SignalBlocked);
        assert_eq!(wait(0, u32::MAX), HandlerWait::OffProcessor);
        assert_eq!(wait_while_it_runs(|| None, 0, || true), HandlerWait::OffProcessor, "ended");
    }
}
