//! GetCallTrace.

use super::frame_room::Room;
use crate::classes;
use crate::classes::seen_frames::SeenFrames;
use crate::records::agents::Agent;
use crate::records::phase;
use crate::records::virtual_thread;
use crate::suspension::{
    self, executing,
    sampling::{self, Sampled},
};
use crate::threads::{self, Thread};
use crate::translate::frames::{self, Resolver, Walked};
use jni_sys::jint;
use jvm::Jni;
use jvm::async_call_trace::RawFrame;
use jvm::suspending;
use jvm::types::{jthread, jvmtiFrameInfo};
use jvmpi_sys::JVMPI_CallTrace;
use std::mem::MaybeUninit;

/// # Safety
/// `trace` is NULL or points to a trace whose `frames` have space for `depth` frames.
pub unsafe fn get_call_trace(agent: &Agent, trace: *mut JVMPI_CallTrace, depth: jint) {
    // SAFETY: the caller promises NULL or a trace.
    let Some(trace) = (unsafe { trace.as_mut() }) else { return };
    trace.num_frames = 0;
    if depth <= 0 || trace.frames.is_null() || !phase::vm_answers() {
        return;
    }
    let Some((jni, current)) = threads::current_attached() else { return };
    // `frames` needs these fields. The first call looks them up, which must not happen while threads are suspended.
    classes::class_fields(jni);
    let _suspending = suspension::current_suspends_others().then(suspending::begin);
    let other = (!threads::is_current(trace.env_id)).then(|| threads::by_env(trace.env_id));
    let other = match &other {
        None => None,
        Some(None) => return,
        Some(Some(thread)) => Some(&**thread),
    };
    let frames = trace.frames;
    let fill = |room: &mut Room| {
        trace.num_frames = fill(jni, agent, &current, other, room) as jint;
    };
    // SAFETY: the caller promises space for `depth` frames.
    unsafe { Room::with(frames, depth as usize, fill) };
}

/// Writes the frames of the current thread, or of another one, to `room`, and returns their number.
pub fn fill(
    jni: Jni,
    agent: &Agent,
    current: &Thread,
    other: Option<&Thread>,
    room: &mut Room,
) -> usize {
    loop {
        let (walked, count) = match other {
            None => (Walked::Current, frames::of_current(jni, current, room.walked())),
            Some(thread) => walk(agent, thread, room.walked()),
        };
        let mut resolver = Resolver::of(walked);
        // With `virtual=own`, the stack of a virtual thread that is being mounted or unmounted lies on the carrier.
        let shows_virtual =
            !virtual_thread::are_threads() || other.is_none_or(|thread| thread.is_virtual());
        let kept = resolve(jni, agent, current, &mut resolver, room, count, shows_virtual);
        // The bytecode indexes found may refer to an older version of a method's code; walk again.
        if !resolver.met_new_code {
            return kept;
        }
    }
}

/// Walks the stack of another thread. The frames are those of its suspension, or those that it recorded when the agent
/// called ThreadHasRun, or the current ones.
fn walk(
    agent: &Agent,
    thread: &Thread,
    room: &mut [MaybeUninit<jvmtiFrameInfo>],
) -> (Walked, usize) {
    let depth = room.len();
    let mut copy = |frames: &[RawFrame]| copy(frames, room);
    if let Some(count) = suspension::with_trace(thread, depth, &mut copy) {
        // The thread may have run since.
        return (Walked::Running, count);
    }
    if thread.suspension.is_suspended() {
        return walk_now(thread, room);
    }
    match sampling::with_frames(agent, thread, depth, copy) {
        Sampled::Frames(count) => (Walked::Running, count),
        Sampled::NotYet => (Walked::Running, 0),
        Sampled::Unknown => walk_now(thread, room),
    }
}

/// Writes frames that a signal handler has found as JVMTI has them. Returns their number.
pub fn copy(frames: &[RawFrame], room: &mut [MaybeUninit<jvmtiFrameInfo>]) -> usize {
    for (place, frame) in room.iter_mut().zip(frames) {
        // The index is negative in a native method and before a method's first instruction.
        let location = i64::from(frame.bci.max(0));
        place.write(jvmtiFrameInfo { method: frame.method, location });
    }
    frames.len().min(room.len())
}

/// Converts `count` frames of a CPU sample, which another thread has taken a while ago. Returns how many remain.
pub fn resolve_taken(
    jni: Jni,
    agent: &Agent,
    current: &Thread,
    room: &mut Room,
    count: usize,
) -> usize {
    resolve(jni, agent, current, &mut Resolver::of(Walked::Running), room, count, true)
}

/// Walks the current stack of another thread, or of the virtual thread mounted on it. Suspending a carrier does not
/// stop its virtual thread.
fn walk_now(thread: &Thread, room: &mut [MaybeUninit<jvmtiFrameInfo>]) -> (Walked, usize) {
    let is_suspended = thread.suspension.is_suspended();
    let walk = |object, is_mounted: bool| {
        let walked = if is_suspended && !is_mounted { Walked::Suspended } else { Walked::Running };
        (walked, walk_thread(object, room))
    };
    executing::with(thread, walk).unwrap_or((Walked::Running, 0))
}

fn walk_thread(object: jthread, room: &mut [MaybeUninit<jvmtiFrameInfo>]) -> usize {
    jvm::get().jvmti.stack_trace(object, 0, room).unwrap_or(0)
}

/// Converts `count` JVMTI frames to JVMPI frames and returns how many remain. Each method's class is announced before
/// the agent gets the frame. A method that the VM no longer knows is left out. Unless `shows_virtual`, the result is 0
/// for the stack of a virtual thread.
fn resolve(
    jni: Jni,
    agent: &Agent,
    current: &Thread,
    resolver: &mut Resolver,
    room: &mut Room,
    count: usize,
    shows_virtual: bool,
) -> usize {
    let mut kept = 0;
    // Announcing a class runs the agent's handler, which may request a trace; that one starts with an empty cache.
    let mut seen = SeenFrames::take();
    for at in 0..count {
        // SAFETY: the walk wrote this frame, and `kept` never overtakes `at`.
        let frame = unsafe { room.frame(at) };
        if let Some(frame) = resolver.next(jni, agent, current, frame, &mut seen) {
            room.show(kept, frame);
            kept += 1;
        }
        if resolver.met_carrier && kept > 0 {
            // AsyncGetCallTrace continues into the frames of the carrier; JVMTI does not.
            break;
        }
    }
    seen.put_back();
    if resolver.met_virtual && !shows_virtual { 0 } else { kept }
}
