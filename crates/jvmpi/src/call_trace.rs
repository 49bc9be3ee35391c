//! Stack traces.

use crate::{Line, MethodId, ThreadId};
use jni_sys::jint;
use jvmpi_sys::{JVMPI_CallFrame, JVMPI_CallTrace};
use std::{fmt, ptr, slice};

/// One frame of a stack trace.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Frame(JVMPI_CallFrame);

// SAFETY: the method ID is never dereferenced here, and the VM accepts it from any thread.
unsafe impl Send for Frame {}
// SAFETY: as above.
unsafe impl Sync for Frame {}

impl Frame {
    /// Returns the method that executes in this frame.
    ///
    /// # Panics
    /// Panics if the VM reported a frame without a method.
    pub fn method(&self) -> MethodId {
        MethodId::of(self.0.method_id).expect("the VM reported a frame without a method")
    }

    /// Returns the position in the method.
    pub fn line(&self) -> Line {
        Line::from_code(self.0.lineno)
    }
}

impl PartialEq for Frame {
    fn eq(&self, other: &Self) -> bool {
        (self.0.method_id, self.0.lineno) == (other.0.method_id, other.0.lineno)
    }
}

impl Eq for Frame {}

impl std::hash::Hash for Frame {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (self.0.method_id, self.0.lineno).hash(state);
    }
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Frame").field(&self.method()).field(&self.line()).finish()
    }
}

/// A buffer for the frames of one stack trace. Reuse it to avoid an allocation per trace.
#[derive(Clone, Debug)]
pub struct Frames(Box<[Frame]>);

impl Frames {
    /// Creates a buffer for `depth` frames.
    pub fn with_depth(depth: usize) -> Self {
        let empty = Frame(JVMPI_CallFrame { lineno: -1, method_id: ptr::null_mut() });
        Self(vec![empty; depth].into())
    }

    /// Returns the number of frames that fit.
    pub fn depth(&self) -> usize {
        self.0.len()
    }

    /// Returns the address of the buffer and its size in frames, for GetCallTrace.
    pub(crate) fn room(&mut self) -> (*mut JVMPI_CallFrame, jint) {
        // `Frame` is `repr(transparent)` over `JVMPI_CallFrame`.
        (self.0.as_mut_ptr().cast(), jint::try_from(self.0.len()).unwrap_or(jint::MAX))
    }

    /// Returns the first `count` frames, which GetCallTrace has written.
    pub(crate) fn filled(&self, count: jint) -> &[Frame] {
        let count = usize::try_from(count).unwrap_or(0);
        &self.0[..count.min(self.0.len())]
    }
}

/// The stack trace of one thread in a dump.
#[derive(Clone, Copy, Debug)]
pub struct CallTrace<'e> {
    /// The thread; `None` if the VM does not name it.
    pub thread: Option<ThreadId>,
    /// The frames, innermost first.
    pub frames: &'e [Frame],
}

/// Returns the stack traces of a dump.
///
/// # Safety
/// `traces` points to `count` traces, and each trace to its frames, all valid for `'e`.
pub(crate) unsafe fn traces<'e>(
    count: jint,
    traces: *const JVMPI_CallTrace,
) -> impl ExactSizeIterator<Item = CallTrace<'e>> + Clone {
    // SAFETY: as the caller promises.
    let traces = unsafe { slice(traces, count) };
    traces.iter().map(|trace| CallTrace {
        thread: ThreadId::of(trace.env_id),
        // SAFETY: as the caller promises. `Frame` is `repr(transparent)` over `JVMPI_CallFrame`.
        frames: unsafe { slice(trace.frames.cast(), trace.num_frames) },
    })
}

/// Converts the pointer and the length that an event has for a list.
///
/// # Safety
/// `first` is NULL or points to `count` elements that are valid for `'e`.
pub(crate) unsafe fn slice<'e, T>(first: *const T, count: jint) -> &'e [T] {
    match usize::try_from(count) {
        // SAFETY: as the caller promises.
        Ok(count) if !first.is_null() => unsafe { slice::from_raw_parts(first, count) },
        _ => &[],
    }
}
