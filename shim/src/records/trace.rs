//! The buffers for the call trace that a thread takes in its signal handler.

use crate::jvm::async_call_trace::{self, RawFrame};
use crate::platform::anonymous_memory;
use jni_sys::{JNIEnv, jint};
use std::ffi::c_void;
use std::ptr;
use std::slice;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicUsize, Ordering};

/// The largest number of frames of a trace.
const MAX_DEPTH: usize = 1024;

/// The number of frames that a trace gets at present: the most that agents have asked for. Walking a deep stack
/// is slow, and few agents want all of it.
static DEPTH: AtomicUsize = AtomicUsize::new(1);

/// Two call traces of one thread. The handler fills one while the other is read.
#[derive(Default)]
pub struct Trace {
    /// The memory of both buffers, NULL until the first request.
    memory: AtomicPtr<RawFrame>,
    buffers: [Buffer; 2],
}

#[derive(Default)]
struct Buffer {
    /// The number of frames; negative if the stack could not be walked.
    count: AtomicI32,
    /// The number of frames requested.
    depth: AtomicUsize,
}

impl Trace {
    /// Maps the memory before the signal is sent. It does not use `malloc`, because other threads may be
    /// suspended.
    pub fn allocate(&self) {
        if !self.memory.load(Ordering::Acquire).is_null() {
            return;
        }
        // If there is no memory, JVMTI takes the traces.
        if let Some(memory) = anonymous_memory::map(FRAMES) {
            self.memory.store(memory, Ordering::Release);
        }
    }

    /// Takes the call trace of the current thread. Called only in the signal handler of the trace's thread.
    ///
    /// # Safety
    /// The caller fulfills the requirements of [`async_call_trace::walk`], except those on the frames. No other
    /// code reads this buffer meanwhile.
    pub unsafe fn take(&self, buffer: usize, env: *mut JNIEnv, context: *mut c_void) {
        let memory = self.memory.load(Ordering::Acquire);
        if memory.is_null() {
            return;
        }
        let depth = DEPTH.load(Ordering::Relaxed);
        // SAFETY: each buffer has room for MAX_DEPTH frames, and no other code reads this one; a frame of zero
        // bytes is valid.
        let room = unsafe { slice::from_raw_parts_mut(memory.add(buffer * MAX_DEPTH), depth) };
        // SAFETY: as the caller promises.
        let walked = unsafe { async_call_trace::walk(env, room, context) };
        let count = walked.map_or_else(|reason| reason, |count| count as jint);
        self.buffers[buffer].count.store(count, Ordering::Relaxed);
        self.buffers[buffer].depth.store(depth, Ordering::Relaxed);
    }

    /// Returns the innermost `depth` frames in a buffer. None if the stack could not be walked, or has more
    /// frames than were taken. The handler must not write the buffer meanwhile.
    pub fn get(&self, buffer: usize, depth: usize) -> Option<&[RawFrame]> {
        let memory = self.memory.load(Ordering::Acquire);
        let count = usize::try_from(self.buffers[buffer].count.load(Ordering::Relaxed)).ok()?;
        let taken = self.buffers[buffer].depth.load(Ordering::Relaxed);
        if count == 0 {
            // The VM's own threads have no frames. JVMTI finds those of other threads.
            return None;
        }
        if memory.is_null() || count == taken && taken < depth {
            DEPTH.fetch_max(depth.min(MAX_DEPTH), Ordering::Relaxed);
            return None;
        }
        // SAFETY: `take` has filled this buffer.
        let frames = unsafe { slice::from_raw_parts(memory.add(buffer * MAX_DEPTH), count) };
        let frames = &frames[..count.min(depth)];
        frames.iter().all(|frame| !frame.method.is_null()).then_some(frames)
    }
}

/// The number of frames of both buffers.
const FRAMES: usize = 2 * MAX_DEPTH;

impl Drop for Trace {
    fn drop(&mut self) {
        let memory = std::mem::replace(self.memory.get_mut(), ptr::null_mut());
        if !memory.is_null() {
            // SAFETY: `allocate` has mapped it, and no other code uses it any more.
            unsafe { anonymous_memory::unmap(memory, FRAMES) };
        }
    }
}
