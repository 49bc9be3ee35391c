//! METHOD_ENTRY, METHOD_ENTRY2 and METHOD_EXIT.

use super::announce::{self, ClassFor};
use super::entries::{send_entry, send_held, send_left};
use super::frames;
use crate::classes::method_numbers;
use crate::notify::short_cut;
use crate::records::agents::{self, Agent, AgentSet, OnlyListener};
use crate::records::announced::replaying_thread;
use crate::records::calls::Step;
use crate::records::ids;
use crate::threads::{self, Thread};
use jni_sys::{jboolean, jint, jmethodID, jobject};
use jvm::boundary::guard;
use jvm::lock::Memo;
use jvm::{GlobalRef, Jni};
use jvmpi_sys::*;
use std::ptr;

/// Reports a method entry for which no agent needs the receiver.
#[inline(always)]
pub fn entered(jni: Jni, number: jint) {
    let sent = short_cut::with(OnlyListener::Entry, Step::Enter(number as u32), |way| {
        let method_id = way.method(number)?;
        let handler = way.handler()?;
        way.send(handler, JVMPI_EVENT_METHOD_ENTRY, JVMPI_Event_method { method_id });
        Some(())
    });
    if sent.is_none() {
        entered_on(jni, number, ptr::null_mut());
    }
}

/// Reports the entry of a method other than a constructor. The receiver of a static method is NULL.
///
/// The function has one copy, so that the compiler makes the closure a part of it.
#[inline(never)]
pub fn entered_with(jni: Jni, number: jint, receiver: jobject) {
    let sent = short_cut::with(OnlyListener::Entry2, Step::Enter(number as u32), |way| {
        let (thread, agent) = (way.thread(), way.agent()?);
        let method_id = way.method(number)?;
        // A cached ID is announced to the agent: it has not changed in this epoch.
        let known = if receiver.is_null() {
            Some(ptr::null_mut())
        } else {
            thread.receivers.known(receiver, way.epoch)
        };
        let obj_id = known.or_else(|| find_receiver(agent, thread, receiver, way.epoch))?;
        let handler = way.handler()?;
        if agent.wants(JVMPI_EVENT_METHOD_ENTRY) {
            way.send(handler, JVMPI_EVENT_METHOD_ENTRY, JVMPI_Event_method { method_id });
        }
        // The agent's handler may have disabled this event.
        if agent.wants(JVMPI_EVENT_METHOD_ENTRY2) {
            let body = JVMPI_Event_method_entry2 { method_id, obj_id };
            thread.current_object.set(obj_id, receiver);
            way.send(handler, JVMPI_EVENT_METHOD_ENTRY2, body);
            // No event around this one has an object.
            thread.current_object.set(ptr::null_mut(), ptr::null_mut());
        }
        Some(())
    });
    if sent.is_none() {
        entered_on(jni, number, receiver);
    }
}

/// Returns the ID of the object that this thread calls a method on, if the object is announced to the agent. The
/// thread caches it for this epoch.
#[cold]
#[inline(never)]
fn find_receiver(agent: &Agent, thread: &Thread, object: jobject, epoch: u64) -> Option<jobjectID> {
    let find = || {
        let tag = ids::tag(object).ok()?;
        let is_known = tag.is_announced_to(agent) && replaying_thread(agent) == 0;
        is_known.then(|| tag.id())
    };
    // Virtual threads have no such cache: there may be a million of them.
    if thread.is_virtual() { find() } else { thread.receivers.learn(object, epoch, find) }
}

#[cold]
#[inline(never)]
fn entered_on(jni: Jni, number: jint, receiver: jobject) {
    guard((), || {
        let thread = threads::current(jni);
        if !short_cut::is_reportable(&thread) {
            return;
        }
        send_held(jni, &thread);
        short_cut::prepare(jni, &thread, number as usize, |method| {
            thread.in_flight.while_tracking(|| send_entry(jni, &thread, method, number, receiver));
        });
    });
}

/// Reports that a method is about to be left, by return or by exception.
#[inline(always)]
pub fn exited(jni: Jni, number: jint) {
    let sent = short_cut::with(OnlyListener::Exit, Step::Exit(number as u32), |way| {
        let method_id = way.method(number)?;
        let handler = way.handler()?;
        way.send(handler, JVMPI_EVENT_METHOD_EXIT, JVMPI_Event_method { method_id });
        Some(())
    });
    if sent.is_none() {
        exited_for_all(jni, number);
    }
}

#[cold]
#[inline(never)]
fn exited_for_all(jni: Jni, number: jint) {
    guard((), || {
        let thread = threads::current(jni);
        if !short_cut::is_reportable(&thread) {
            return;
        }
        send_left(jni, &thread);
        short_cut::prepare(jni, &thread, number as usize, |method| {
            let u = JVMPI_Event_method { method_id: method.id };
            let known = |number| method_numbers::reported(number as usize);
            let lost = |method, agents| exit_lost(jni, &thread, agents, method);
            let entered = thread.in_flight.calls.exit(number as u32, known, lost);
            for agent in agents::all() {
                if entered.includes(agent) || !agent.hears_of_entries() {
                    announce::class(jni, agent, &thread, method.class, ClassFor::EVENT);
                    thread.in_flight.while_tracking(|| {
                        announce::send(jni, agent, &thread, JVMPI_EVENT_METHOD_EXIT, u);
                    });
                }
            }
        });
    });
}

/// The class `StackOverflowError`, once it was looked up.
static OVERFLOW: Memo<Option<GlobalRef>> = Memo::new();

/// Looks up the class that [`caught`] needs.
pub fn prepare(jni: Jni) {
    OVERFLOW.get_or_find(|| {
        jni.frame(1, |jni| GlobalRef::new(jni, jni.find_class(c"java/lang/StackOverflowError")?))
    });
}

/// Handles an exception that a method has caught: the calls inside it have been left. Most exits were
/// reported, but not the exit of a constructor whose `super()` or `this()` has thrown: the verifier allows
/// no handler around that call. Exits during a stack overflow are missing too, because the stack had no
/// space for a report.
#[inline]
pub fn caught(jni: Jni, exception: jobject, number: jint, constructs: jboolean) {
    let class = OVERFLOW.get().and_then(Option::as_ref);
    let overflows = class.is_some_and(|class| jni.instance_of(exception, class.get()));
    let is_innermost = || {
        short_cut::with(OnlyListener::Exit, Step::Stay, |way| {
            way.handler()?;
            Some(way.thread().in_flight.calls.is_innermost(number as u32))
        })
    };
    if overflows || constructs || is_innermost() != Some(true) {
        let overflow = overflows.then_some(exception);
        guard((), || caught_after_losses(jni, number, constructs, overflow));
    }
}

/// Reports the missing exits of calls that an exception has left. `overflow` is the exception if it is a
/// StackOverflowError.
#[cold]
fn caught_after_losses(jni: Jni, number: jint, constructs: bool, overflow: Option<jobject>) {
    let thread = threads::current(jni);
    if !short_cut::is_reportable(&thread) {
        return;
    }
    send_left(jni, &thread);
    // Only calls that are still open can have been left without a report.
    let calls = &thread.in_flight.calls;
    let may_be_left = constructs || overflow.is_some_and(|error| calls.is_new_overflow(jni, error));
    short_cut::prepare(jni, &thread, number as usize, |method| {
        let known = |number| method_numbers::reported(number as usize);
        let lost = |method, agents| exit_lost(jni, &thread, agents, method);
        let frames = may_be_left.then_some(|| frames::constructed(jni, method.id));
        calls.go_on(number as u32, frames, known, lost);
    });
}

/// Reports the exit of a method that could not be reported when it was left.
#[cold]
fn exit_lost(jni: Jni, thread: &Thread, agents: AgentSet, method: Option<jmethodID>) {
    let Some(method_id) = method else { return };
    let u = JVMPI_Event_method { method_id };
    thread.in_flight.while_tracking(|| {
        for agent in agents.iter() {
            announce::send(jni, agent, thread, JVMPI_EVENT_METHOD_EXIT, u);
        }
    });
}
