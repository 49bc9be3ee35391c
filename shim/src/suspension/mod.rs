//! Suspending threads for agents, and the call traces of other threads.
//!
//! SuspendThread takes two steps. First a thread that executes Java code takes its own call trace in a
//! signal handler and goes on ([`sampling`]). Then JVMTI suspends it: HotSpot stops a thread only at a
//! safepoint poll or outside Java code, so a suspended thread holds no lock of the VM or of the C
//! library. `GetCallTrace` answers with the trace of the first step, which is not biased towards
//! safepoint polls; if there is none, with JVMTI's trace of the suspended thread.
//!
//! The two steps are some microseconds of the thread's own time apart, which no agent can tell from a
//! suspension that takes effect a little later.

pub mod can_suspend;
pub mod executing;
pub mod sampling;
pub mod signal;
pub mod thread_status;

use crate::jvm::async_call_trace::RawFrame;
use crate::jvm::{self, Error};
use crate::records::agents::Agent;
use crate::records::registry;
use crate::records::suspension::{RUNNING, SUSPENDED, UNSTOPPED};
use crate::suspending::{self, Suspending};
use crate::sync::claims;
use crate::threads::{self, Thread};
use jvmti_sys::{JVMTI_ERROR_THREAD_SUSPENDED, jthread};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// True if the signal handler needs the JVMTI events `ClassLoad` and `ClassPrepare`, and a class's
/// methods have to be given IDs at the latter.
pub fn wants_method_ids() -> bool {
    signal::is_installed()
}

/// Called when an agent suspends a thread: the first call installs the signal handler. True if
/// [`wants_method_ids`] has become true.
pub fn prepare() -> bool {
    static PREPARED: AtomicBool = AtomicBool::new(false);
    if PREPARED.swap(true, Ordering::SeqCst) {
        return false;
    }
    // JDK-8257831: before JDK 17, HotSpot needs a safepoint to suspend a thread.
    if jvm::get().feature_version() < 17 {
        log::info!(
            "on this JDK each suspension of a thread stops the whole program for a moment: a sampler \
             gets about 200 ticks a second, and a program with many running threads may take half as \
             long again; JDK 17 and later do it without"
        );
    }
    sampling::prepare()
}

/// Suspends a thread for the agent; true if it is suspended now, also if it was before.
///
/// When this returns the thread executes no more Java code. False for the current thread and for one that
/// has ended.
pub fn suspend(agent: &Agent, thread: &Arc<Thread>) -> bool {
    let _lock = claims::to_suspend();
    let _suspending = respecting_suspended();
    request_trace(agent, thread);
    sampling::await_handler(thread);
    stop(agent, thread)
}

/// Suspends several threads; `result` gets for each, None included, what [`suspend`] would have returned. All
/// of them take their traces before the first is suspended.
pub fn suspend_all(
    agent: &Agent,
    threads: impl Iterator<Item = Option<Arc<Thread>>> + Clone,
    mut result: impl FnMut(usize, bool),
) {
    let _lock = claims::to_suspend();
    let mut suspending = respecting_suspended();
    threads.clone().flatten().for_each(|thread| request_trace(agent, &thread));
    for thread in threads.clone().flatten() {
        sampling::await_handler(&thread);
    }
    for (i, thread) in threads.enumerate() {
        result(i, thread.is_some_and(|thread| stop(agent, &thread)));
        suspending = suspending.or_else(respecting_suspended);
    }
}

/// True if the thread is one that SuspendThread can suspend, and is not suspended yet.
fn can_be_suspended(thread: &Thread) -> bool {
    !thread.suspension.is_suspended()
        && !thread.has_ended()
        && thread.os_thread() != threads::os_thread()
}

/// The first step: finds out whether the thread has run, and requests its trace if it executes Java code.
fn request_trace(agent: &Agent, thread: &Thread) {
    if !can_be_suspended(thread) {
        return;
    }
    let cpu = executing::cpu_time(thread);
    let has_run = cpu.is_none_or(|cpu| thread.sample.has_run(cpu));
    thread.sample.discard();
    let executes = has_run && executing::executes_java(thread);
    let is_requested = executes && cpu.is_some_and(|cpu| sampling::request(agent, thread, cpu));
    let counts = has_run && (is_requested || !sampling::waits(thread));
    thread.suspension.ran.store(counts, Ordering::SeqCst);
}

/// The second step: has JVMTI suspend the thread.
fn stop(agent: &Agent, thread: &Thread) -> bool {
    let suspension = &thread.suspension;
    if can_be_suspended(thread) {
        let state = suspend_by_jvmti(thread);
        thread.sample.settle();
        if thread.is_displaced() && !thread.sample.is_shown() {
            // It has left its carrier before it took the trace.
            suspension.ran.store(false, Ordering::SeqCst);
        }
        suspension.note_suspender();
        suspension.set_state(state);
        if state == SUSPENDED {
            count_suspended(threads::os_thread(), true);
        }
    }
    if suspension.state() != RUNNING {
        suspension.hold(agent);
    }
    suspension.is_suspended()
}

/// SuspendThread of JVMTI. Returns the state that the thread is in then: [`SUSPENDED`], also if others had suspended
/// it already; [`UNSTOPPED`] if another JVMTI agent has `can_suspend`; [`RUNNING`] if the thread or the VM has ended.
fn suspend_by_jvmti(thread: &Thread) -> u32 {
    let Some(object) = thread.object() else { return RUNNING };
    let result = can_suspend::with(|| jvm::get().jvmti.suspend(object.get()));
    let Some(result) = result else { return UNSTOPPED };
    let by_others = matches!(result, Err(Error(JVMTI_ERROR_THREAD_SUSPENDED)));
    thread.suspension.by_others.store(by_others, Ordering::SeqCst);
    if by_others || result.is_ok() { SUSPENDED } else { RUNNING }
}

/// ResumeThread of JVMTI.
fn resume_by_jvmti(thread: jthread) {
    if let Err(error) = jvm::get().jvmti.resume(thread) {
        log::debug!("ResumeThread of JVMTI failed: {error}");
    }
}

/// Counts the threads that the thread with this number has suspended.
fn count_suspended(suspender: i32, is_one_more: bool) {
    if suspender == threads::os_thread() {
        if let Some(current) = threads::known_current() {
            current.suspension.count_suspended(is_one_more);
        }
    } else if let Some(suspender) = registry::by_os_thread(suspender) {
        suspender.suspension.count_suspended(is_one_more);
    }
}

/// True if the current thread has suspended others for an agent, and not resumed all of them.
pub fn current_suspends_others() -> bool {
    threads::known_current().is_some_and(|current| current.suspension.suspends_others())
}

/// Until the result is dropped, neither Java objects nor memory of `malloc` may be allocated, if the current thread has
/// others suspended.
fn respecting_suspended() -> Option<Suspending> {
    current_suspends_others().then(suspending::begin_without_malloc)
}

/// Takes back the agent's suspension of a thread; false if there is none. The thread goes on unless
/// another agent has suspended it, too.
pub fn resume(agent: &Agent, thread: &Thread) -> bool {
    let _lock = claims::to_resume();
    let suspension = &thread.suspension;
    if !suspension.release(agent) {
        return false;
    }
    if suspension.is_requested() {
        return true;
    }
    if suspension.ran.load(Ordering::SeqCst)
        && let Some(cpu) = executing::cpu_time(thread)
    {
        thread.sample.accounted.store(cpu, Ordering::SeqCst);
    }
    thread.sample.discard();
    let suspender = suspension.suspender();
    if suspension.is_ours()
        && let Some(object) = thread.object()
    {
        resume_by_jvmti(object.get());
    }
    suspension.set_state(RUNNING);
    if let Some(suspender) = suspender {
        count_suspended(suspender, false);
    }
    true
}

/// `ThreadHasRun` of a suspended thread: true if it had used CPU time, more than [`sample::NOISE`], between its last
/// resumption, or its start, and its suspension. See [`sampling::has_run`] for a thread that is not suspended.
pub fn has_run(thread: &Thread) -> bool {
    thread.suspension.is_requested() && thread.suspension.ran.load(Ordering::SeqCst)
}

/// Passes the innermost `depth` frames to `f` that a suspended thread had when it took its trace. None if it took none:
/// then JVMTI gives the trace.
pub fn with_trace<R>(thread: &Thread, depth: usize, f: impl FnOnce(&[RawFrame]) -> R) -> Option<R> {
    let _lock = claims::to_resume();
    if !thread.suspension.is_requested() {
        return None;
    }
    thread.sample.peek(depth).map(f)
}

/// Calls `look`, which calls no agent, with the thread, or the virtual thread that is mounted on it, while JVMTI has
/// suspended it. If another JVMTI agent has `can_suspend`, the thread goes on. None if the thread has ended.
pub fn while_suspended<R>(thread: &Thread, mut look: impl FnMut(jthread) -> R) -> Option<R> {
    let _lock = claims::to_suspend();
    let borrowed = can_suspend::borrow();
    if thread.suspension.is_requested() {
        // From now on the agent gets JVMTI's trace.
        thread.sample.discard();
    }
    let jvmti = jvm::get().jvmti;
    let _suspending = suspending::begin();
    executing::with(thread, |object, _| {
        let is_suspended = borrowed.is_ok() && jvmti.suspend(object).is_ok();
        let result = look(object);
        if is_suspended {
            resume_by_jvmti(object);
        }
        result
    })
}
