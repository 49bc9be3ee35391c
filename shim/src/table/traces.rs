//! GetCallTrace.

use crate::classes;
use crate::classes::seen_frames::SeenFrames;
use crate::records::agents::Agent;
use crate::records::virtual_thread;
use crate::suspension::sampling::{self, Sampled};
use crate::suspension::{self, thread_state};
use crate::threads::{self, Thread};
use crate::translate::frames::{self, Resolver, Walked};
use jni_sys::jint;
use jvm::async_call_trace::RawFrame;
use jvm::types::{jthread, jvmtiFrameInfo};
use jvm::{Jni, suspending};
use jvmpi_sys::{JVMPI_CallFrame, JVMPI_CallTrace};
use std::cell::Cell;
use std::mem::{self, MaybeUninit};

/// # Safety
/// `trace` is NULL or points to a trace whose `frames` have space for `depth` frames.
pub unsafe fn get_call_trace(agent: &Agent, trace: *mut JVMPI_CallTrace, depth: jint) {
    // SAFETY: the caller promises NULL or a trace.
    let Some(trace) = (unsafe { trace.as_mut() }) else { return };
    trace.num_frames = 0;
    if depth <= 0 || trace.frames.is_null() {
        return;
    }
    let Some((jni, current)) = threads::current_answered() else { return };
    // `frames` needs these fields. The first call looks them up, which must not happen while threads are suspended.
    classes::class_fields(jni);
    let _suspending = suspension::current_suspends_others().then(suspending::begin);
    let is_current = threads::is_current(trace.env_id);
    let other = if is_current { None } else { threads::by_env(trace.env_id) };
    if other.is_none() && !is_current {
        return;
    }
    let (other, depth) = (other.as_deref(), depth as usize);
    // SAFETY: the caller promises space for `depth` frames.
    let count = unsafe { fill(jni, agent, &current, other, trace.frames, depth) };
    trace.num_frames = count as jint;
}

/// Space for JVMTI's frames of a stack. Each thread keeps it for its next trace.
pub struct Room(Vec<jvmtiFrameInfo>);

/// The number of frames for which there is space at first. No handler of a signal takes more.
const AT_FIRST: usize = 1024;

thread_local! {
    static ROOM: Cell<Vec<jvmtiFrameInfo>> = const { Cell::new(Vec::new()) };
}

impl Room {
    /// Takes the space of the current thread. While it is in use, there is another one.
    pub fn take() -> Self {
        let mut room = Self(ROOM.try_with(Cell::take).unwrap_or_default());
        room.0.reserve(AT_FIRST);
        room
    }

    /// Returns the space for at most `depth` frames.
    pub fn places(&mut self, depth: usize) -> &mut [MaybeUninit<jvmtiFrameInfo>] {
        let places = self.0.spare_capacity_mut();
        let count = places.len().min(depth);
        &mut places[..count]
    }

    fn grow(&mut self) {
        self.0.reserve(4 * self.0.capacity());
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // At the end of the thread there is no next trace.
        let _ = ROOM.try_with(|room| room.set(mem::take(&mut self.0)));
    }
}

/// Writes the frames of the current thread, or of another one, and returns their number.
///
/// # Safety
/// `shown` has space for `depth` frames.
pub unsafe fn fill(
    jni: Jni,
    agent: &Agent,
    current: &Thread,
    other: Option<&Thread>,
    shown: *mut JVMPI_CallFrame,
    depth: usize,
) -> usize {
    let mut room = Room::take();
    loop {
        let places = room.places(depth);
        let (walked, count) = match other {
            None => (Walked::Current, frames::of_current(jni, current, places)),
            Some(thread) => walk(agent, thread, depth, places),
        };
        if count == places.len() && count < depth {
            room.grow();
            continue;
        }
        let mut resolver = Resolver::of(walked);
        // With `virtual=own`, the stack of a virtual thread that is being mounted or unmounted lies on the carrier.
        let shows_virtual =
            !virtual_thread::are_threads() || other.is_none_or(|thread| thread.is_virtual());
        // SAFETY: the walk wrote these frames, and the caller promises space for them.
        let kept = unsafe {
            let found = places[..count].assume_init_ref();
            resolve(jni, agent, current, &mut resolver, found, shown, shows_virtual)
        };
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
    depth: usize,
    room: &mut [MaybeUninit<jvmtiFrameInfo>],
) -> (Walked, usize) {
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

/// Walks the current stack of another thread, or of the virtual thread mounted on it. Suspending a carrier does not
/// stop its virtual thread.
fn walk_now(thread: &Thread, room: &mut [MaybeUninit<jvmtiFrameInfo>]) -> (Walked, usize) {
    let is_suspended = thread.suspension.is_suspended();
    let walk = |object, is_mounted: bool| {
        let walked = if is_suspended && !is_mounted { Walked::Suspended } else { Walked::Running };
        (walked, walk_thread(object, room))
    };
    thread_state::with(thread, walk).unwrap_or((Walked::Running, 0))
}

fn walk_thread(object: jthread, room: &mut [MaybeUninit<jvmtiFrameInfo>]) -> usize {
    jvm::get().jvmti.stack_trace(object, 0, room).unwrap_or(0)
}

/// Converts JVMTI's frames to JVMPI's and returns how many remain. Each method's class is announced before the agent
/// gets the frame. A method that the VM no longer knows is left out. Unless `shows_virtual`, the result is 0 for the
/// stack of a virtual thread.
///
/// # Safety
/// `shown` has space for as many frames.
pub unsafe fn resolve(
    jni: Jni,
    agent: &Agent,
    current: &Thread,
    resolver: &mut Resolver,
    found: &[jvmtiFrameInfo],
    shown: *mut JVMPI_CallFrame,
    shows_virtual: bool,
) -> usize {
    let mut kept = 0;
    // Announcing a class runs the agent's handler, which may request a trace; that one starts with an empty cache.
    let mut seen = SeenFrames::take();
    for frame in found {
        if let Some(frame) = resolver.next(jni, agent, current, *frame, &mut seen) {
            // SAFETY: as the caller promises; no more frames are kept than were found.
            unsafe { shown.add(kept).write(frame) };
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
