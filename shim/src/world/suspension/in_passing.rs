//! The stack of a thread that is not suspended, taken in passing.
//!
//! A sampler need not suspend what it samples. It asks `ThreadHasRun`: a thread that executes Java code
//! and has used CPU time since the answer was last yes is sent the signal, whose handler takes its stack
//! and lets it go on. `GetCallTrace` then gives that stack. So all threads that are asked take their
//! stacks at the same time, and none stands still.
//!
//! A thread that has lost its processor, often to the sampler itself, comes to the handler before any more
//! code of its own, but only when it gets a processor again. Nobody waits for that: its stack is given when
//! it is asked the next time, and it is sent the signal again if it has run on since.

use super::stop::NOISE;
use super::{Waited, can_be_signalled, cpu_time, send, wait_while_it_runs};
use crate::jvm::async_call_trace::RawFrame;
use crate::world::agents::Agent;
use crate::world::cpu_clock;
use crate::world::order::claims;
use crate::world::threads::Thread;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// `ThreadHasRun` of a thread that is not suspended: whether it has used CPU time since the answer was last
/// yes, more than [`NOISE`], and is runnable. If it executes Java code, its stack is taken.
pub fn has_run(agent: &Agent, thread: &Arc<Thread>, is_runnable: impl FnOnce() -> bool) -> bool {
    let _claim = claims::to_resume();
    let glance = &thread.stop.glance;
    glance.show();
    let is_mine = glance.is_asked_by(agent);
    let is_coming = glance.is_asked();
    if is_mine && is_coming {
        return true;
    }
    let has_stack = is_mine && glance.has_stack();
    let cpu = cpu_time(thread);
    let has_run = |cpu| cpu - glance.accounted.load(Ordering::SeqCst) > NOISE;
    if !cpu.is_none_or(has_run) || !is_runnable() {
        return has_stack;
    }
    let Some(cpu) = cpu else { return true };
    let is_asked = !is_coming && ask(agent, thread, cpu);
    if !is_asked && !has_stack {
        // JVMTI gives the stack if the agent wants it.
        glance.accounted.store(cpu, Ordering::SeqCst);
    }
    true
}

/// Sends the signal, which is to take the stack of a thread that executes Java code; false for all others.
fn ask(agent: &Agent, thread: &Arc<Thread>, cpu: i64) -> bool {
    if !can_be_signalled(thread) {
        return false;
    }
    let glance = &thread.stop.glance;
    glance.ask(agent, cpu);
    let is_sent = send(thread);
    if !is_sent {
        glance.give_up();
    }
    is_sent
}

/// The stack of a thread that is not suspended.
pub enum Stack<R> {
    /// The innermost frames when the thread was asked.
    Taken(R),
    /// The thread has not been on a processor since it was asked.
    Coming,
    /// None was asked for, or it could not be walked there: JVMTI gives the one that the thread has now.
    None,
}

/// Passes the innermost `depth` frames to `f` that the thread had when the agent asked [`has_run`].
pub fn with_stack<R>(
    agent: &Agent,
    thread: &Thread,
    depth: usize,
    f: impl FnOnce(&[RawFrame]) -> R,
) -> Stack<R> {
    let glance = &thread.stop.glance;
    if !glance.is_asked_by(agent) {
        return Stack::None;
    }
    if !glance.has_stack() {
        let clock = || cpu_clock::of(thread.os_thread());
        match wait_while_it_runs(clock, glance.cpu_when_asked(), || glance.is_asked()) {
            Waited::Answered => {}
            Waited::OffProcessor => return Stack::Coming,
            Waited::Deaf => {
                thread.stop.is_deaf.store(true, Ordering::Relaxed);
                glance.give_up();
            }
        }
    }
    let _claim = claims::to_resume();
    if !glance.has_stack() {
        glance.show();
    }
    glance.give(depth).map_or(Stack::None, |frames| Stack::Taken(f(frames)))
}
