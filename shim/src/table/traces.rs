//! GetCallTrace.

use crate::jvm::{self, Jni};
use crate::translate::frames::{Frame, Resolver, Walked, hidden_frames};
use crate::world::agents::Agent;
use crate::world::seen_frames::SeenFrames;
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
    let other = (!threads::is_current(trace.env_id)).then(|| threads::by_env(trace.env_id));
    loop {
        let (walked, count) = match &other {
            None => {
                let start = hidden_frames(jni, &current);
                let stack = jvm::get().jvmti.stack_trace(ptr::null_mut(), start, room);
                (Walked::Current, stack.unwrap_or(0))
            }
            Some(None) => return,
            Some(Some(thread)) => walk(thread, room),
        };
        let mut resolver = Resolver::of(walked);
        let mut kept = resolve(jni, agent, &current, &mut resolver, &mut room[..count]);
        if let Some(Some(thread)) = other.as_ref().filter(|_| resolver.met_unknown) {
            kept = resolve_at_rest(jni, agent, &current, thread, room);
        }
        trace.num_frames = kept as jint;
        // The bytecode indexes that were found may refer to a method's old code.
        if !resolver.met_new_code {
            return;
        }
    }
}

/// The frames of another thread: those at which it was suspended, or those it executes now.
fn walk(thread: &Thread, room: &mut [MaybeUninit<jvmtiFrameInfo>]) -> (Walked, usize) {
    let stopped = suspension::with_trace(thread, room.len(), |frames| {
        for (place, frame) in room.iter_mut().zip(frames) {
            // Negative in a native method, and in front of a method's first instruction.
            let location = i64::from(frame.bci.max(0));
            place.write(jvmtiFrameInfo { method: frame.method, location });
        }
        frames.len().min(room.len())
    });
    if let Some(count) = stopped {
        return (Walked::Suspended, count);
    }
    let is_suspended = thread.stop.is_suspended();
    let walked = if is_suspended { Walked::Suspended } else { Walked::Running };
    (walked, walk_now(thread, room))
}

/// The frames that another thread executes now.
fn walk_now(thread: &Thread, room: &mut [MaybeUninit<jvmtiFrameInfo>]) -> usize {
    let Some(object) = thread.object() else { return 0 };
    jvm::get().jvmti.stack_trace(object.get(), 0, room).unwrap_or(0)
}

/// The frames of a running thread as the agent gets them. It is suspended for a moment, so that it cannot
/// leave a method that the VM has to be asked about.
fn resolve_at_rest(
    jni: Jni,
    agent: &Agent,
    current: &Thread,
    thread: &Thread,
    room: &mut [MaybeUninit<jvmtiFrameInfo>],
) -> usize {
    let frames: Vec<_> = suspension::at_rest(thread, || {
        let count = walk_now(thread, room);
        // SAFETY: the walk wrote that many frames.
        let walked = room[..count].iter().map(|frame| unsafe { frame.assume_init() });
        walked.map(|frame| Frame::of_suspended(jni, frame)).collect()
    });
    let mut resolver = Resolver::default();
    let shown = frames.iter().filter_map(|frame| resolver.show(jni, agent, current, frame));
    let places = room.iter_mut().map(|place| place.as_mut_ptr().cast::<JVMPI_CallFrame>());
    // SAFETY: both kinds of frame have the same size and alignment.
    places.zip(shown).map(|(place, frame)| unsafe { place.write(frame) }).count()
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
    // The agent may ask for a trace in its turn when a class is announced: that one begins anew.
    let mut seen = SeenFrames::take();
    for i in 0..frames.len() {
        // SAFETY: the walk wrote this frame, and a frame is only overwritten after it was read,
        // as at most one is kept for each.
        let frame = unsafe { frames[i].assume_init() };
        if let Some(frame) = resolver.next(jni, agent, current, frame, &mut seen) {
            let place = frames[kept].as_mut_ptr().cast::<JVMPI_CallFrame>();
            // SAFETY: both kinds of frame have the same size and alignment.
            unsafe { place.write(frame) };
            kept += 1;
        }
    }
    seen.put_back();
    kept
}
