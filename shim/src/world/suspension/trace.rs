//! The stack of a thread, taken in the handler of a signal.

use crate::jvm::async_call_trace::{self, RawFrame};
use jni_sys::{JNIEnv, jint};
use std::alloc::{self, Layout};
use std::ffi::c_void;
use std::ptr;
use std::slice;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicUsize, Ordering};

/// The most frames that are taken when a thread is stopped.
pub const MAX_DEPTH: usize = 1024;

/// How many frames are taken at present: as many as agents have asked for. Walking a deep stack
/// takes long, while the thread stands still, and few agents want all of it.
static DEPTH: AtomicUsize = AtomicUsize::new(1);

/// The stack of a thread as it was when the thread was stopped last.
///
/// A new one is taken beside it, so that the old one can be read until the new one is complete.
#[derive(Default)]
pub struct Trace {
    /// Room for two traces, NULL until the thread is stopped by a signal for the first time.
    memory: AtomicPtr<RawFrame>,
    halves: [Half; 2],
    /// The half that has the last complete trace.
    current: AtomicUsize,
}

#[derive(Default)]
struct Half {
    /// How many frames there are; negative if the stack could not be walked.
    count: AtomicI32,
    /// How many were asked for.
    depth: AtomicUsize,
}

impl Trace {
    /// Allocates the memory, before the signal is sent.
    pub fn allocate(&self) {
        if !self.memory.load(Ordering::Acquire).is_null() {
            return;
        }
        // SAFETY: the layout is not empty.
        let memory = unsafe { alloc::alloc_zeroed(LAYOUT) }.cast::<RawFrame>();
        if memory.is_null() {
            alloc::handle_alloc_error(LAYOUT);
        }
        self.memory.store(memory, Ordering::Release);
    }

    /// Takes the stack of the current thread. Called only in the signal handler of the thread that the
    /// trace belongs to.
    ///
    /// # Safety
    /// As for [`async_call_trace::walk`], but for the frames.
    pub unsafe fn take(&self, env: *mut JNIEnv, context: *mut c_void) {
        let memory = self.memory.load(Ordering::Acquire);
        if memory.is_null() {
            return;
        }
        let spare = 1 - self.current.load(Ordering::Relaxed);
        let depth = DEPTH.load(Ordering::Relaxed);
        // SAFETY: each half has room for MAX_DEPTH frames, and nobody reads this one; all bits
        // zero are a valid frame.
        let room = unsafe { slice::from_raw_parts_mut(memory.add(spare * MAX_DEPTH), depth) };
        // SAFETY: as the caller promises.
        let walked = unsafe { async_call_trace::walk(env, room, context) };
        let count = walked.map_or_else(|reason| reason, |count| count as jint);
        self.halves[spare].count.store(count, Ordering::Relaxed);
        self.halves[spare].depth.store(depth, Ordering::Relaxed);
        self.current.store(spare, Ordering::Release);
    }

    /// The innermost `depth` frames; None if the stack could not be walked at that moment, or the
    /// trace may have fewer than the stack. It must not be taken twice while it is being read.
    pub fn get(&self, depth: usize) -> Option<&[RawFrame]> {
        self.half(self.current(), depth)
    }

    /// Which half has the stack that was taken last. The next one is put into the other.
    pub fn current(&self) -> usize {
        self.current.load(Ordering::Acquire)
    }

    /// As [`Self::get`], of that half.
    pub fn half(&self, half: usize, depth: usize) -> Option<&[RawFrame]> {
        let memory = self.memory.load(Ordering::Acquire);
        let count = usize::try_from(self.halves[half].count.load(Ordering::Relaxed)).ok()?;
        let taken = self.halves[half].depth.load(Ordering::Relaxed);
        if count == 0 {
            // The VM's own threads have no frames; for others JVMTI finds them.
            return None;
        }
        if memory.is_null() || count == taken && taken < depth {
            DEPTH.fetch_max(depth.min(MAX_DEPTH), Ordering::Relaxed);
            return None;
        }
        // SAFETY: `take` has filled this half, and overwrites it the time after next at the
        // earliest.
        let frames = unsafe { slice::from_raw_parts(memory.add(half * MAX_DEPTH), count) };
        let frames = &frames[..count.min(depth)];
        frames.iter().all(|frame| !frame.method.is_null()).then_some(frames)
    }
}

const LAYOUT: Layout = match Layout::array::<RawFrame>(2 * MAX_DEPTH) {
    Ok(layout) => layout,
    Err(_) => panic!("the depth is a reasonable one"),
};

impl Drop for Trace {
    fn drop(&mut self) {
        let memory = std::mem::replace(self.memory.get_mut(), ptr::null_mut());
        if !memory.is_null() {
            // SAFETY: `allocate` got the memory with this layout.
            unsafe { alloc::dealloc(memory.cast(), LAYOUT) };
        }
    }
}
