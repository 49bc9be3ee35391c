//! Answers RequestEvent for HEAP_DUMP, OBJECT_DUMP and MONITOR_DUMP. This file has the call traces of a dump: those of
//! all live threads at one moment, at which all but the current one are suspended.

pub mod heap_dump;
mod locked;
pub mod monitor_dump;
pub mod object_dump;
mod walk;

use crate::gc::heap_walk::Stopped;
use crate::records::agents::Agent;
use crate::records::phase;
use crate::threads::Thread;
use crate::translate::announce;
use crate::translate::frames::Frame;
use jni_sys::jint;
use jvm::Jni;
use jvmpi_sys::{JVMPI_CallFrame, JVMPI_CallTrace, JVMPI_EVENT_THREAD_START};
use std::ptr;
use std::sync::Arc;

/// Returns the dump. Logs the reason if there is none. That the VM has ended meanwhile is not worth a warning.
fn or_log<T>(kind: &str, made: Result<T, String>) -> Option<T> {
    let log = |reason: &String| {
        let level = if phase::vm_answers() { log::Level::Warn } else { log::Level::Debug };
        log::log!(level, "no {kind} dump: {reason}");
    };
    made.inspect_err(log).ok()
}

/// A suspended thread, or the current one.
struct SuspendedThread {
    thread: Arc<Thread>,
    /// The thread's frames, innermost first.
    frames: Vec<Frame>,
}

/// Suspends all threads but the current one, and records the live threads, without the shim's own. Omits the current
/// thread's `hidden_frames` innermost frames.
///
/// # Errors
/// Returns the reason why that is not possible.
fn stop_the_world(
    jni: Jni,
    current: &Thread,
    hidden_frames: usize,
) -> Result<(Stopped, Vec<SuspendedThread>), String> {
    let (stopped, threads) = Stopped::begin(jni, current)?;
    let record = |thread: Arc<Thread>| {
        let object = thread.object()?;
        let is_current = thread.env() == current.env();
        let start = if is_current { hidden_frames } else { 0 };
        let walked = if is_current { ptr::null_mut() } else { object.get() };
        let stack = jvm::get().jvmti.whole_stack(walked, start);
        let frames = stack.into_iter().map(|frame| Frame::of_suspended(jni, frame)).collect();
        Some(SuspendedThread { thread, frames })
    };
    let recorded = threads.into_iter().filter_map(record).collect();
    Ok((stopped, recorded))
}

/// Call traces whose methods and threads are announced to an agent.
struct Stacks {
    /// The frames that the traces point to.
    _frames: Vec<Vec<JVMPI_CallFrame>>,
    traces: Vec<JVMPI_CallTrace>,
    /// For each thread and each of its frames as the VM counts them, the index in the thread's trace.
    numbers: Vec<Vec<Option<u32>>>,
    /// For each trace, the index of its thread.
    threads: Vec<usize>,
}

impl Stacks {
    /// Returns the traces of all threads. An agent that has ever enabled THREAD_START looks up its record of each
    /// thread. If it would not get that event now, threads are announced to it as if it had requested the event.
    fn of(jni: Jni, agent: &Agent, current: &Thread, suspended: &[SuspendedThread]) -> Self {
        for SuspendedThread { thread, .. } in suspended {
            announce::thread(jni, agent, current, thread);
        }
        let has_wanted = agent.has_wanted(JVMPI_EVENT_THREAD_START);
        for SuspendedThread { thread, .. } in suspended {
            if has_wanted && !thread.announced.to(agent) {
                announce::thread_as_requested(jni, agent, current, thread);
            }
        }
        // A thread that has ended meanwhile cannot be announced.
        let is_shown = |thread: &Thread| thread.announced.to(agent) || !has_wanted;
        let mut stacks = Self {
            _frames: Vec::new(),
            traces: Vec::new(),
            numbers: Vec::new(),
            threads: Vec::new(),
        };
        for (i, SuspendedThread { thread, frames }) in suspended.iter().enumerate() {
            if !is_shown(thread) {
                stacks.numbers.push(Vec::new());
                continue;
            }
            let mut trace = Vec::with_capacity(frames.len());
            let mut numbers = Vec::with_capacity(frames.len());
            for frame in frames {
                let shown = frame.show(jni, agent, current);
                numbers.push(shown.map(|_| trace.len() as u32));
                trace.extend(shown);
            }
            stacks.traces.push(JVMPI_CallTrace {
                env_id: thread.env(),
                num_frames: trace.len() as jint,
                frames: trace.as_mut_ptr(),
            });
            stacks._frames.push(trace);
            stacks.numbers.push(numbers);
            stacks.threads.push(i);
        }
        stacks
    }

    /// Returns the index of a frame in the trace of a thread.
    fn number(&self, thread: usize, depth: usize) -> Option<u32> {
        *self.numbers.get(thread)?.get(depth)?
    }

    /// Returns the traces in the form that events need, valid as long as `self` lives.
    fn traces(&mut self) -> (jint, *mut JVMPI_CallTrace) {
        (self.traces.len() as jint, self.traces.as_mut_ptr())
    }
}
