//! METHOD_ENTRY and METHOD_ENTRY2 of constructors whose object agents hear of first.

use super::{frames, methods, objects};
use crate::boundary::guard;
use crate::instrument::receivers;
use crate::jvm::Jni;
use crate::notify::short_cut;
use crate::world::agents;
use crate::world::construction::{Chain, Signature};
use crate::world::methods as known_methods;
use crate::world::threads::{self, Thread};
use crate::world::tracked;
use jni_sys::{jint, jobject};
use jvmpi_sys::{JVMPI_EVENT_METHOD_ENTRY2, JVMPI_EVENT_OBJECT_ALLOC};
use std::ptr;

/// A constructor was entered.
#[inline(never)]
pub fn entered(jni: Jni, number: jint) {
    guard((), || {
        let thread = threads::current(jni);
        let number = number as u32;
        let Some(beginning) = tracked::beginning(number as usize) else { return };
        if !short_cut::is_reportable(&thread) {
            return;
        }
        // The method is the one that calls now.
        if tracked::with(jni, number as usize, |_| ()).is_none() {
            return;
        }
        if !thread.held.awaits(beginning.own) {
            tell_held(jni, &thread);
        }
        thread.must_be_examined();
        if !thread.held.push(number, beginning.next) {
            const CALLER: usize = 1;
            let object = find(jni, &thread, number, CALLER);
            tell(jni, &thread, thread.held.take(), object, CALLER);
            jni.delete_local(object);
        }
    });
}

/// What is held of the object, with which the constructor of `Object` is called now.
pub fn held_of(jni: Jni, thread: &Thread) -> Chain {
    if !thread.held.awaits(Signature::OBJECT) {
        tell_held(jni, thread);
    }
    thread.held.take()
}

/// Something else happens on the thread: agents hear first of what is held.
#[inline]
pub fn tell_held(jni: Jni, thread: &Thread) {
    if thread.held.any() {
        look_and_tell(jni, thread);
    }
}

#[cold]
fn look_and_tell(jni: Jni, thread: &Thread) {
    let last = thread.held.last();
    let chain = thread.held.take();
    let place = last.and_then(|number| Some((number, frame_of(jni, number)?)));
    let object = place.map_or(ptr::null_mut(), |(number, frame)| find(jni, thread, number, frame));
    tell(jni, thread, chain, object, place.map_or(0, |(_, frame)| frame));
    jni.delete_local(object);
}

/// A method is left. Constructors that are held were left before by an exception, unless it is
/// the last one of them.
pub fn left(jni: Jni, thread: &Thread, number: jint) {
    match thread.held.last() {
        None => {}
        Some(last) if last == number as u32 => look_and_tell(jni, thread),
        Some(_) => tell(jni, thread, thread.held.take(), ptr::null_mut(), 0),
    }
}

/// Which frame of the thread that runs is that of the constructor; the innermost is 0.
fn frame_of(jni: Jni, number: u32) -> Option<usize> {
    let method = tracked::reported(number as usize)?;
    let is_it = |frame: &jvmti_sys::jvmtiFrameInfo| {
        let known =
            if frame.method.is_null() { None } else { known_methods::of(jni, frame.method) };
        known.is_some_and(|known| known.id() == method)
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

/// The object of a constructor, in this frame of the thread that runs; NULL if it has none any more.
fn find(jni: Jni, thread: &Thread, number: u32, frame: usize) -> jobject {
    let class = tracked::with(jni, number as usize, |method| method.class.object(jni)).flatten();
    let found = class.and_then(|class| {
        let found = receivers::of_constructor(jni, thread, class, frame);
        jni.delete_local(class);
        found
    });
    found.unwrap_or(ptr::null_mut())
}

/// Tells agents that constructors were entered, the last one of which is this frame of the thread that
/// runs. Of the object they hear before that, as if those were not there.
pub fn tell(jni: Jni, thread: &Thread, chain: Chain, object: jobject, frame: usize) {
    let numbers = chain.numbers();
    if !object.is_null() {
        thread.in_flight.while_hiding(frame + numbers.len(), || {
            for agent in agents::all().iter().filter(|agent| agent.hears_of_entries()) {
                let is_named = agent.wants(JVMPI_EVENT_METHOD_ENTRY2);
                if is_named || agent.wants(JVMPI_EVENT_OBJECT_ALLOC) {
                    let _ = objects::introduce(jni, agent, thread, object);
                }
            }
        });
    }
    for (i, number) in numbers.iter().enumerate() {
        let inside = numbers.len() - 1 - i;
        methods::constructor_held(jni, thread, *number as jint, object, frame + inside);
    }
}
