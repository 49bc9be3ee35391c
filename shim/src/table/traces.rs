//! GetCallTrace.

use crate::jvm::{self, Jni};
use crate::translate;
use crate::world::agents::Agent;
use crate::world::classes::Class;
use crate::world::in_flight::Report;
use crate::world::methods::{self, Method};
use crate::world::threads::{self, Thread};
use crate::world::{phase, suspension};
use jni_sys::{jint, jmethodID, jobject};
use jvmpi_sys::{JVMPI_CallFrame, JVMPI_CallTrace};
use jvmti_sys::jvmtiFrameInfo;
use std::mem::{MaybeUninit, align_of, size_of};
use std::sync::Arc;
use std::{ptr, slice};

/// The `lineno` of a native method's frame.
const NATIVE: jint = -3;
/// The location that JVMTI gives a native method's frame.
const NATIVE_LOCATION: i64 = -1;

// JVMTI writes its frames where the agent wants its own, so that no depth needs memory of ours.
const _: () = assert!(
    size_of::<jvmtiFrameInfo>() == size_of::<JVMPI_CallFrame>()
        && align_of::<jvmtiFrameInfo>() == align_of::<JVMPI_CallFrame>(),
    "the shim is made for 64-bit machines"
);

/// # Safety
/// `trace` is NULL or points to a trace whose `frames` have room for `depth` frames.
pub unsafe fn get_call_trace(agent: &Agent, trace: *mut JVMPI_CallTrace, depth: jint) {
    // SAFETY: the caller promises NULL or a trace.
    let Some(trace) = (unsafe { trace.as_mut() }) else { return };
    trace.num_frames = 0;
    if depth <= 0 || trace.frames.is_null() || !phase::vm_answers() {
        return;
    }
    // SAFETY: the caller promises the room.
    let room = unsafe {
        slice::from_raw_parts_mut(
            trace.frames.cast::<MaybeUninit<jvmtiFrameInfo>>(),
            depth as usize,
        )
    };
    let Some((jni, current)) = threads::current_attached() else { return };
    let walked = if trace.env_id == current.env() {
        let start = hidden_frames(jni, &current);
        jvm::get().jvmti.stack_trace(ptr::null_mut(), start, room).unwrap_or(0)
    } else {
        threads::by_env(trace.env_id).map_or(0, |thread| walk(&thread, room))
    };
    trace.num_frames = resolve(jni, agent, &current, &mut room[..walked]) as jint;
}

/// How many of the innermost frames agents do not see: the Tracker's, and, when the allocation of
/// an object is reported by `Object.<init>`, its constructors, since to agents it is their caller
/// that allocates.
fn hidden_frames(jni: Jni, current: &Thread) -> usize {
    match current.in_flight.report() {
        Report::None => 0,
        Report::Tracker => 1,
        Report::Constructors => 1 + constructors_of(jni, current.subject.any()),
    }
}

/// How many frames below the innermost one are constructors of the object.
fn constructors_of(jni: Jni, object: jobject) -> usize {
    const AT_ONCE: usize = 16;
    let constructs = |frame: &jvmtiFrameInfo| {
        let method = methods::of(jni, frame.method).filter(|method| method.is_constructor);
        let is_instance = |class: &Class| {
            jni.frame(4, |jni| class.object(jni).is_some_and(|c| jni.instance_of(object, c)))
        };
        method.is_some_and(|method| is_instance(&method.class))
    };
    let mut count = 0;
    loop {
        let mut frames = [const { MaybeUninit::uninit() }; AT_ONCE];
        let walked = jvm::get().jvmti.stack_trace(ptr::null_mut(), 1 + count, &mut frames);
        // SAFETY: the walk wrote that many frames.
        let found = frames[..walked.unwrap_or(0)].iter().map(|f| unsafe { f.assume_init_ref() });
        let constructors = found.take_while(|frame| constructs(frame)).count();
        count += constructors;
        if constructors < AT_ONCE {
            return count;
        }
    }
}

/// The frames of another thread: those it was stopped at, or those it executes now.
fn walk(thread: &Thread, room: &mut [MaybeUninit<jvmtiFrameInfo>]) -> usize {
    let stopped = suspension::with_trace(thread, room.len(), |frames| {
        for (place, frame) in room.iter_mut().zip(frames) {
            let location = if frame.bci < 0 { NATIVE_LOCATION } else { i64::from(frame.bci) };
            place.write(jvmtiFrameInfo { method: frame.method, location });
        }
        frames.len().min(room.len())
    });
    stopped.unwrap_or_else(|| {
        let Some(object) = thread.object() else { return 0 };
        jvm::get().jvmti.stack_trace(object.get(), 0, room).unwrap_or(0)
    })
}

/// Turns frames as JVMTI gives them into those of JVMPI, in place; every method is announced
/// before the agent learns of it, and one that the VM does not know any more is left out.
fn resolve(
    jni: Jni,
    agent: &Agent,
    current: &Thread,
    frames: &mut [MaybeUninit<jvmtiFrameInfo>],
) -> usize {
    let mut kept = 0;
    let mut callee = None;
    for i in 0..frames.len() {
        // SAFETY: the walk wrote this frame, and a frame is only overwritten after it was read,
        // as at most one is kept for each.
        let frame = unsafe { frames[i].assume_init() };
        let method = known(jni, frame.method);
        // A native method and the one in front of it are one frame to agents.
        let is_shown_already =
            callee.as_ref().is_some_and(|callee: &Arc<Method>| callee.is_wrapped);
        let shown = method.as_ref().filter(|_| !is_shown_already);
        let shown = shown.map(|method| resolve_frame(jni, agent, current, method, frame.location));
        callee = method;
        if let Some(frame) = shown {
            let place = frames[kept].as_mut_ptr().cast::<JVMPI_CallFrame>();
            // SAFETY: both kinds of frame have the same size and alignment.
            unsafe { place.write(frame) };
            kept += 1;
        }
    }
    kept
}

/// The method, unless it is of the shim's own or the VM does not know it any more.
fn known(jni: Jni, method: jmethodID) -> Option<Arc<Method>> {
    let known = if method.is_null() { None } else { methods::of(jni, method) };
    known.filter(|method| !method.class.is_own())
}

fn resolve_frame(
    jni: Jni,
    agent: &Agent,
    current: &Thread,
    method: &Method,
    location: i64,
) -> JVMPI_CallFrame {
    translate::classes::announce(jni, agent, current, &method.class);
    let is_native = location == NATIVE_LOCATION || method.is_wrapper;
    let lineno = if is_native { NATIVE } else { method.line(location) };
    JVMPI_CallFrame { lineno, method_id: method.id() }
}
