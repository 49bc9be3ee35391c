//! Suspends threads for agents, and takes the call traces of other threads.
//!
//! SuspendThread takes two steps. First, a thread that executes Java code takes its own call trace in a signal handler
//! and continues ([`sampling`]). Then JVMTI suspends it: HotSpot stops a thread only at a safepoint poll or outside
//! Java code, so a suspended thread holds no lock of the VM or of the C library. `GetCallTrace` returns the trace of
//! the first step, which is not biased towards safepoint polls; if there is none, JVMTI's trace of the suspended
//! thread.
//!
//! The two steps are some microseconds of the thread's own time apart. An agent cannot distinguish that from a
//! suspension that takes effect a little later.

pub mod cpu_samples;
mod sample_pool;
pub mod sampling;
pub mod thread_state;

use crate::records::agents::Agent;
use crate::records::registry;
use crate::records::suspension::{RUNNING, SUSPENDED, UNSTOPPED};
use crate::sync::vm_locks;
use crate::threads::{self, Thread};
use jvm::async_call_trace::RawFrame;
use jvm::platform::signal;
use jvm::suspending::{self, Suspending};
use jvm::types::{JVMTI_ERROR_THREAD_SUSPENDED, JVMTI_THREAD_STATE_RUNNABLE};
use jvm::{Error, capabilities};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once};
use std::thread::sleep;
use std::time::Duration;

/// Returns true if the signal handler needs the JVMTI events `ClassLoad` and `ClassPrepare`, and methods of a class
/// need IDs at the latter.
pub fn wants_method_ids() -> bool {
    signal::is_installed()
}

/// Called when an agent suspends a thread. The first call installs the signal handler. Returns true if
/// [`wants_method_ids`] has become true.
pub fn prepare() -> bool {
    // JDK-8257831: before JDK 17, HotSpot needs a safepoint to suspend a thread.
    static SAID: AtomicBool = AtomicBool::new(false);
    if !SAID.swap(true, Ordering::SeqCst) && jvm::get().feature_version() < 17 {
        log::info!(
            "on this JDK each suspension of a thread stops the whole program for a moment: a sampler \
             gets about 200 ticks a second, and a program with many running threads may take half as \
             long again; JDK 17 and later do it without"
        );
    }
    sampling::prepare()
}

/// Suspends threads for the agent. After that they execute no more Java code. All of them take their traces before the
/// first is suspended.
///
/// `result` gets for each, even for None, true if it is suspended now, even if it was before. It gets false for the
/// current thread and for a thread that has ended.
pub fn suspend(
    agent: &Agent,
    threads: impl Iterator<Item = Option<Arc<Thread>>> + Clone,
    mut result: impl FnMut(usize, bool),
) {
    let _lock = vm_locks::for_suspending();
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

/// Returns true if SuspendThread can suspend the thread, and it is not suspended yet.
fn can_be_suspended(thread: &Thread) -> bool {
    !thread.suspension.is_suspended()
        && !thread.has_ended()
        && thread.os_thread() != threads::os_thread()
}

/// Makes the first step: determines whether the thread has run, and requests its trace if it executes Java code.
fn request_trace(agent: &Agent, thread: &Thread) {
    if !can_be_suspended(thread) {
        return;
    }
    let cpu = thread_state::cpu_time(thread);
    let has_run = cpu.is_none_or(|cpu| thread.sample.has_run(cpu));
    thread.sample.discard();
    let executes = has_run && thread_state::executes_java(thread);
    let is_requested = executes && cpu.is_some_and(|cpu| sampling::request(agent, thread, cpu));
    let counts = has_run && (is_requested || !sampling::waits(thread));
    thread.suspension.ran.store(counts, Ordering::SeqCst);
}

/// Makes the second step: JVMTI suspends the thread.
fn stop(agent: &Agent, thread: &Thread) -> bool {
    let suspension = &thread.suspension;
    if can_be_suspended(thread) {
        let state = suspend_by_jvmti(thread);
        thread.sample.settle();
        if thread.is_displaced() && !thread.sample.is_shown() {
            // The thread has left its carrier before it took the trace.
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

/// Calls JVMTI's SuspendThread and returns the thread's new state: [`SUSPENDED`], even if others had already suspended
/// it; [`UNSTOPPED`] if another JVMTI agent has `can_suspend`; [`RUNNING`] if the thread or the VM has ended.
fn suspend_by_jvmti(thread: &Thread) -> u32 {
    let Some(object) = thread.object() else { return RUNNING };
    let jvmti = jvm::get().jvmti;
    await_execution(thread);
    let result = capabilities::with_suspension(jvmti, || jvmti.suspend(object.get()));
    let Some(result) = result else {
        static SAID: Once = Once::new();
        SAID.call_once(|| {
            log::warn!(
                "another agent, such as a debugger, has can_suspend, which only one can have: \
                 SuspendThread stops no thread; call traces of other threads are taken while they run"
            );
        });
        return UNSTOPPED;
    };
    let by_others = matches!(result, Err(Error(JVMTI_ERROR_THREAD_SUSPENDED)));
    thread.suspension.by_others.store(by_others, Ordering::SeqCst);
    if by_others || result.is_ok() { SUSPENDED } else { RUNNING }
}

/// Before JDK 17, waits until the thread is neither returning from native code nor at a safepoint.
///
/// If JVMTI finds a thread on its way back from native code, it looks at it up to 50 times, for 6.4 seconds, until it
/// does something else. A thread that was resumed there a moment ago, or that a safepoint held there, is suspended at
/// once and does nothing else. After about 8 ms JVMTI suspends the thread all the same, perhaps as late as that.
fn await_execution(thread: &Thread) {
    const STEP: Duration = Duration::from_micros(100);
    // Threads of the VM have run no code of the shim. They may stay blocked while JVMTI shows them as runnable.
    if jvm::get().feature_version() >= 17 || thread.os_thread() == 0 {
        return;
    }
    let is_held = || {
        let state = thread_state::jvmti_state(thread).unwrap_or(0);
        state & JVMTI_THREAD_STATE_RUNNABLE != 0
            && thread.vm_state().is_some_and(|state| state.is_blocked() || state.leaves_native())
    };
    (0..50).take_while(|_| is_held()).for_each(|_| sleep(STEP));
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

/// Returns true if the current thread has suspended others for an agent, and not resumed all of them.
pub fn current_suspends_others() -> bool {
    threads::known_current().is_some_and(|current| current.suspension.suspends_others())
}

/// If the current thread has suspended others, forbids allocating Java objects and memory of `malloc` until the result
/// is dropped.
fn respecting_suspended() -> Option<Suspending> {
    current_suspends_others().then(suspending::begin_without_malloc)
}

/// Ends the agent's suspension of a thread. Returns false if there is none. The thread continues unless another agent
/// has suspended it too.
pub fn resume(agent: &Agent, thread: &Thread) -> bool {
    let _lock = vm_locks::for_resuming();
    let suspension = &thread.suspension;
    if !suspension.release(agent) {
        return false;
    }
    if suspension.is_requested() {
        return true;
    }
    if suspension.ran.load(Ordering::SeqCst)
        && let Some(cpu) = thread_state::cpu_time(thread)
    {
        thread.sample.accounted.store(cpu, Ordering::SeqCst);
    }
    thread.sample.discard();
    let suspender = suspension.suspender();
    if suspension.is_ours()
        && let Some(object) = thread.object()
        && let Err(error) = jvm::get().jvmti.resume(object.get())
    {
        log::debug!("ResumeThread of JVMTI failed: {error}");
    }
    suspension.set_state(RUNNING);
    if let Some(suspender) = suspender {
        count_suspended(suspender, false);
    }
    true
}

/// Implements `ThreadHasRun` for a suspended thread: true if it had used CPU time between its last resumption, or its
/// start, and its suspension. See [`sampling::has_run`] for a thread that is not suspended.
pub fn has_run(thread: &Thread) -> bool {
    thread.suspension.is_requested() && thread.suspension.ran.load(Ordering::SeqCst)
}

/// Passes to `f` the innermost `depth` frames that a suspended thread had when it took its trace. None if it took none;
/// then JVMTI has the trace.
pub fn with_trace<R>(thread: &Thread, depth: usize, f: impl FnOnce(&[RawFrame]) -> R) -> Option<R> {
    let _lock = vm_locks::for_resuming();
    if !thread.suspension.is_requested() {
        return None;
    }
    thread.sample.peek(depth).map(f)
}
