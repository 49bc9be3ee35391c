//! GetCallTrace.

use crate::jvm::{self, Jni};
use crate::translate::frames::{Resolver, hidden_frames};
use crate::world::agents::Agent;
use crate::world::threads::{self, Thread};
use crate::world::{phase, suspension};
use jni_sys::jint;
use jvmpi_sys::{JVMPI_CallFrame, JVMPI_CallTrace};
use jvmti_sys::jvmtiFrameInfo;
use std::mem::{MaybeUninit, align_of, size_of};
use std::{ptr, slice};

// JVMTI writes its frames into the agent's array, so that no depth takes memory of the shim's.
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
    loop {
        let is_current = trace.env_id == current.env();
        let walked = if is_current {
            let start = hidden_frames(jni, &current);
            jvm::get().jvmti.stack_trace(ptr::null_mut(), start, room).unwrap_or(0)
        } else {
            threads::by_env(trace.env_id).map_or(0, |thread| walk(&thread, room))
        };
        let mut resolver = if is_current { Resolver::of_current() } else { Resolver::default() };
        let kept = resolve(jni, agent, &current, &mut resolver, &mut room[..walked]);
        trace.num_frames = kept as jint;
        // The bytecode indexes that were found may refer to a method's old code.
        if !resolver.met_new_code {
            return;
        }
    }
}

/// The frames of another thread: those at which it was suspended, or those it executes now.
fn walk(thread: &Thread, room: &mut [MaybeUninit<jvmtiFrameInfo>]) -> usize {
    let stopped = suspension::with_trace(thread, room.len(), |frames| {
        for (place, frame) in room.iter_mut().zip(frames) {
            // Negative in a native method, and in front of a method's first instruction.
            let location = i64::from(frame.bci.max(0));
            place.write(jvmtiFrameInfo { method: frame.method, location });
        }
        frames.len().min(room.len())
    });
    stopped.unwrap_or_else(|| {
        let Some(object) = thread.object() else { return 0 };
        jvm::get().jvmti.stack_trace(object.get(), 0, room).unwrap_or(0)
    })
}

/// Turns frames as JVMTI gives them into those of JVMPI, in place. Every method's class is
/// announced before the agent gets the frame; a method that the VM does not know any more is left
/// out. How many are left.
fn resolve(
    jni: Jni,
    agent: &Agent,
    current: &Thread,
    resolver: &mut Resolver,
    frames: &mut [MaybeUninit<jvmtiFrameInfo>],
) -> usize {
    let mut kept = 0;
    for i in 0..frames.len() {
        // SAFETY: the walk wrote this frame, and a frame is only overwritten after it was read,
        // as at most one is kept for each.
        let frame = unsafe { frames[i].assume_init() };
        if let Some(frame) = resolver.next(jni, agent, current, frame) {
            let place = frames[kept].as_mut_ptr().cast::<JVMPI_CallFrame>();
            // SAFETY: both kinds of frame have the same size and alignment.
            unsafe { place.write(frame) };
            kept += 1;
        }
    }
    kept
}
