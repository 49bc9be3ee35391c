//! Stacks of threads.

use crate::{MethodId, ThreadId};
use jni_sys::jint;
use jvmpi_sys::{JVMPI_CallFrame, JVMPI_CallTrace};
use std::{fmt, ptr, slice};

/// Where in its method a frame is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Line {
    /// In this line of the source.
    Number(u32),
    /// Not known.
    Unknown,
    /// In a compiled method of which no lines are known.
    Compiled,
    /// In a native method.
    Native,
}

impl Line {
    pub(crate) fn of(lineno: jint) -> Self {
        match lineno {
            -2 => Self::Compiled,
            -3 => Self::Native,
            number => u32::try_from(number).map_or(Self::Unknown, Self::Number),
        }
    }
}

/// One frame of a stack.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Frame(JVMPI_CallFrame);

// SAFETY: a method is only an ID here.
unsafe impl Send for Frame {}
// SAFETY: as above.
unsafe impl Sync for Frame {}

impl Frame {
    /// The method that executes.
    ///
    /// # Panics
    /// If the VM has told none.
    pub fn method(&self) -> MethodId {
        MethodId::of(self.0.method_id).expect("the VM has told a frame of no method")
    }

    /// Where in the method.
    pub fn line(&self) -> Line {
        Line::of(self.0.lineno)
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

/// Room for the frames of one stack. To be kept, so that it need not be allocated for each.
#[derive(Clone, Debug)]
pub struct Frames(Box<[Frame]>);

impl Frames {
    /// Room for this many frames.
    pub fn with_depth(depth: usize) -> Self {
        let empty = Frame(JVMPI_CallFrame { lineno: -1, method_id: ptr::null_mut() });
        Self(vec![empty; depth].into())
    }

    /// For how many frames there is room.
    pub fn depth(&self) -> usize {
        self.0.len()
    }

    /// Where GetCallTrace is to write, and how many frames.
    pub(crate) fn room(&mut self) -> (*mut JVMPI_CallFrame, jint) {
        // A `Frame` is a `JVMPI_CallFrame` and nothing else.
        (self.0.as_mut_ptr().cast(), jint::try_from(self.0.len()).unwrap_or(jint::MAX))
    }

    /// The frames, of which GetCallTrace has written this many.
    pub(crate) fn filled(&self, count: jint) -> &[Frame] {
        let count = usize::try_from(count).unwrap_or(0);
        &self.0[..count.min(self.0.len())]
    }
}

/// The stack of a thread, in a dump.
#[derive(Clone, Copy, Debug)]
pub struct CallTrace<'e> {
    /// Whose stack; None if the VM does not say.
    pub thread: Option<ThreadId>,
    /// The callee before its caller.
    pub frames: &'e [Frame],
}

/// The stacks in a dump.
///
/// # Safety
/// `traces` are that many for as long as `'e`, and so are the frames of each.
pub(crate) unsafe fn traces<'e>(
    count: jint,
    traces: *const JVMPI_CallTrace,
) -> impl ExactSizeIterator<Item = CallTrace<'e>> + Clone {
    // SAFETY: as the caller promises.
    let traces = unsafe { slice(traces, count) };
    traces.iter().map(|trace| CallTrace {
        thread: ThreadId::of(trace.env_id),
        // SAFETY: as the caller promises. A `Frame` is a `JVMPI_CallFrame` and nothing else.
        frames: unsafe { slice(trace.frames.cast(), trace.num_frames) },
    })
}

/// What an event tells by a pointer and a number.
///
/// # Safety
/// The pointer is NULL or points to so many elements, for as long as `'e`.
pub(crate) unsafe fn slice<'e, T>(first: *const T, count: jint) -> &'e [T] {
    match usize::try_from(count) {
        // SAFETY: as the caller promises.
        Ok(count) if !first.is_null() => unsafe { slice::from_raw_parts(first, count) },
        _ => &[],
    }
}
