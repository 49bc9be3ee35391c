//! Sends METHOD_ENTRY and METHOD_ENTRY2. The entries of constructors are deferred until their object is announced.

use super::announce::{self, ClassFor};
use super::{allocations, frames, receivers};
use crate::classes::method_numbers::{self, NumberedMethod};
use crate::classes::{Linking, methods};
use crate::notify::short_cut;
use crate::records::agents::{self, AgentSet};
use crate::records::construction::{Chain, Signature};
use crate::records::ids::{self, Tag};
use crate::records::in_flight::Reporter;
use crate::threads::{self, Thread};
use jni_sys::{jint, jobject};
use jvm::Jni;
use jvm::types::jvmtiFrameInfo;
use jvmpi_sys::*;
use std::ptr;
use std::sync::Arc;

/// Handles the entry of a constructor.
pub fn entered(jni: Jni, number: jint) {
    let thread = threads::current(jni);
    if !short_cut::is_reportable(&thread) {
        return;
    }
    let number = number as u32;
    // The constructor is the method that has called this native.
    let class = method_numbers::with(jni, number as usize, |method| Arc::clone(method.class));
    let (Some(class), Some(beginning)) = (class, method_numbers::beginning(number as usize)) else {
        return;
    };
    if !thread.held.awaits(beginning.own) {
        send_held(jni, &thread);
    }
    // Events that take the short cut would overtake it.
    thread.short_cut.forbid();
    if !thread.held.push(number, &class, beginning.next) {
        const CALLER: usize = 1;
        find_and_send(jni, &thread, thread.held.take(), Some(CALLER));
    }
}

/// Returns the deferred entries of constructors on this object, when `Object`'s constructor is
/// called with it.
pub fn held_of(jni: Jni, thread: &Thread, object: jobject) -> Chain {
    if !thread.held.any() || !short_cut::is_reportable(thread) {
        return Chain::default();
    }
    if !thread.held.awaits(Signature::OBJECT) {
        send_held(jni, thread);
    }
    let chain = thread.held.take();
    let is_instance = jni.frame(2, |jni| {
        let class = chain.class().and_then(|class| class.object(jni));
        class.is_some_and(|class| jni.instance_of(object, class))
    });
    if is_instance {
        return chain;
    }
    // The entries belong to another object; the constructors of this one are not reported.
    find_and_send(jni, thread, chain, None);
    Chain::default()
}

/// Sends the deferred entries, because the thread is about to send another event.
#[inline]
pub fn send_held(jni: Jni, thread: &Thread) {
    if thread.held.any() {
        find_and_send(jni, thread, thread.held.take(), None);
    }
}

/// Sends the deferred entries, because a method entered before those constructors is left. An
/// exception has left the constructors too.
#[inline]
pub fn send_left(jni: Jni, thread: &Thread) {
    if thread.held.any() {
        send_chain(jni, thread, &thread.held.take(), ptr::null_mut(), 0);
    }
}

/// Sends the entries after looking for the constructors' object. `frame` is the frame of the last
/// constructor in the current thread's stack, if known; the innermost is 0.
#[cold]
fn find_and_send(jni: Jni, thread: &Thread, chain: Chain, frame: Option<usize>) {
    let Some(last) = chain.numbers().last().copied() else { return };
    jni.frame(4 + receivers::REFERENCES, |jni| {
        let frame = frame.or_else(|| frame_of(jni, last));
        let found = chain
            .class()
            .and_then(|class| class.object(jni))
            .zip(frame)
            .and_then(|(class, frame)| receivers::of_constructor(jni, thread, class, frame));
        let object = found.unwrap_or(ptr::null_mut());
        // `Object`'s constructor is going to report the object as new.
        if found.is_some() && allocations::by_bytecode() && ids::tag(object) == Ok(Tag::NONE) {
            thread.unconstructed.add();
        }
        send_chain(jni, thread, &chain, object, frame.unwrap_or(0));
    });
}

/// Returns the frame of the constructor with this number, which has not yet returned from its call
/// of the superclass constructor. The innermost frame is 0.
fn frame_of(jni: Jni, number: u32) -> Option<usize> {
    let method = method_numbers::reported(number as usize)?;
    let is_it = |frame: &jvmtiFrameInfo| {
        let known = methods::as_it_is(jni, frame.method, true).map(|(known, _)| known);
        let call = known
            .filter(|known| known.id() == method)
            .and_then(|known| known.own_call(frame.method));
        call.is_some_and(|call| frame.location <= call)
    };
    let mut depth = 0;
    let mut found = None;
    frames::each(0, |frame| {
        if is_it(frame) {
            found = Some(depth);
        }
        depth += 1;
        found.is_none()
    });
    found
}

/// Sends the entries of constructors on this object; NULL if it is unknown. `frame` is the frame of
/// the last constructor. The object is announced first, with a stack trace that omits the
/// constructors' frames.
pub fn send_chain(jni: Jni, thread: &Thread, chain: &Chain, object: jobject, frame: usize) {
    let numbers = chain.numbers();
    let Some(outermost) = chain.class() else { return };
    // This reference keeps the constructors' classes loaded.
    let Some(class) = outermost.object(jni) else { return };
    if !object.is_null() {
        thread.in_flight.reported(Reporter::Frames(frame + numbers.len()), || {
            announce_object(jni, thread, object);
        });
    }
    for (i, number) in numbers.iter().enumerate() {
        let inside = numbers.len() - 1 - i;
        method_numbers::with(jni, *number as usize, |method| {
            let send = || send_entry(jni, thread, method, *number as jint, object);
            thread.in_flight.reported(Reporter::Frames(frame + inside), send);
        });
    }
    jni.delete_local(class);
}

/// Announces the object to agents that have enabled OBJECT_ALLOC or METHOD_ENTRY2.
fn announce_object(jni: Jni, thread: &Thread, object: jobject) {
    let concerns = [JVMPI_EVENT_OBJECT_ALLOC, JVMPI_EVENT_METHOD_ENTRY2];
    for agent in agents::all().iter().filter(|a| concerns.iter().any(|event| a.wants(*event))) {
        let _ = announce::object(jni, agent, thread, object, Linking::Jdk);
    }
}

/// Sends METHOD_ENTRY and METHOD_ENTRY2. `receiver` is NULL if the method is static, if no agent has enabled METHOD_ENTRY2,
/// or if the object of a constructor could not be found.
pub fn send_entry(
    jni: Jni,
    thread: &Thread,
    method: NumberedMethod<'_>,
    number: jint,
    receiver: jobject,
) {
    let mut paired = AgentSet::of_all();
    paired.retain(|agent| agent.hears_of_entries() && agent.gets_exits());
    thread.in_flight.calls.enter(number as u32, paired);
    for agent in agents::all().iter().filter(|agent| agent.hears_of_entries()) {
        announce::class(jni, agent, thread, method.class, ClassFor::EVENT);
        let u = JVMPI_Event_method { method_id: method.id };
        announce::send(jni, agent, thread, JVMPI_EVENT_METHOD_ENTRY, u);
    }
    for agent in agents::wanting(JVMPI_EVENT_METHOD_ENTRY2) {
        let announced = announce::object(jni, agent, thread, receiver, Linking::Boot);
        let obj_id = announced.unwrap_or(ptr::null_mut());
        let u = JVMPI_Event_method_entry2 { method_id: method.id, obj_id };
        thread.current_object.with(obj_id, receiver, || {
            announce::send(jni, agent, thread, JVMPI_EVENT_METHOD_ENTRY2, u);
        });
    }
}
