//! The room that an agent gives for the frames of a trace.
//!
//! JVMTI writes its own frames there, which are then turned into JVMPI's in place: so no depth takes memory of
//! the shim's. Where pointers have 32 bits JVMTI's frames are larger. There they go onto the stack, many of them
//! into a mapping: memory from malloc cannot be had while a thread is suspended that may own malloc's lock.

use jvmpi_sys::JVMPI_CallFrame;
use jvmti_sys::jvmtiFrameInfo;
use std::mem::{MaybeUninit, align_of, size_of};
use std::{ptr, slice};

/// Whether JVMTI's frames fit where an agent's will be.
const FIT: bool = size_of::<jvmtiFrameInfo>() == size_of::<JVMPI_CallFrame>()
    && align_of::<jvmtiFrameInfo>() == align_of::<JVMPI_CallFrame>();

/// How many of JVMTI's frames go onto the stack where they do not fit.
const FEW: usize = 256;

/// Room for as many frames of JVMTI as of the agent, which may be the same memory.
pub struct Room {
    walked: *mut MaybeUninit<jvmtiFrameInfo>,
    shown: *mut JVMPI_CallFrame,
    depth: usize,
}

impl Room {
    /// Runs `f` with the room in an agent's array; not if there is no memory.
    ///
    /// # Safety
    /// `shown` has room for `depth` frames, and nobody else uses it meanwhile.
    pub unsafe fn with(shown: *mut JVMPI_CallFrame, depth: usize, f: impl FnOnce(&mut Self)) {
        if FIT {
            f(&mut Self { walked: shown.cast(), shown, depth });
        } else if depth <= FEW {
            let mut few = [const { MaybeUninit::uninit() }; FEW];
            f(&mut Self { walked: few.as_mut_ptr(), shown, depth });
        } else if let Some(many) = Mapping::of(depth) {
            f(&mut Self { walked: many.start.cast(), shown, depth });
        }
    }

    /// Where JVMTI's frames go.
    pub fn walked(&mut self) -> &mut [MaybeUninit<jvmtiFrameInfo>] {
        // SAFETY: there is room for so many, and what has no value yet may be anything.
        unsafe { slice::from_raw_parts_mut(self.walked, self.depth) }
    }

    /// A frame of JVMTI's.
    ///
    /// # Safety
    /// The walk wrote it, and [`Self::show`] was not called for this place or one behind it since.
    pub unsafe fn frame(&self, at: usize) -> jvmtiFrameInfo {
        debug_assert!(at < self.depth);
        // SAFETY: the caller's promise.
        unsafe { self.walked.add(at).read().assume_init() }
    }

    /// Gives the agent a frame.
    pub fn show(&mut self, at: usize, frame: JVMPI_CallFrame) {
        assert!(at < self.depth);
        // SAFETY: there is room for it, as was promised.
        unsafe { self.shown.add(at).write(frame) };
    }

    /// How many frames there is room for.
    pub fn depth(&self) -> usize {
        self.depth
    }
}

/// Memory of its own for frames of JVMTI.
struct Mapping {
    start: *mut libc::c_void,
    size: usize,
}

impl Mapping {
    fn of(frames: usize) -> Option<Self> {
        let size = frames.checked_mul(size_of::<jvmtiFrameInfo>())?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping disturbs nobody.
        let start = unsafe { libc::mmap(ptr::null_mut(), size, protection, flags, -1, 0) };
        (start != libc::MAP_FAILED).then_some(Self { start, size })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it was mapped so, and is not used any more.
        unsafe { libc::munmap(self.start, self.size) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_walked_is_shown_wherever_it_lies() {
        for depth in [1, FEW, FEW + 1, 10_000] {
            let mut frames =
                vec![JVMPI_CallFrame { lineno: -9, method_id: ptr::null_mut() }; depth];
            // SAFETY: that is its length.
            unsafe {
                Room::with(frames.as_mut_ptr(), depth, |room| {
                    assert_eq!(room.walked().len(), depth);
                    for (i, place) in room.walked().iter_mut().enumerate() {
                        let method = ptr::without_provenance_mut(8 * i);
                        place.write(jvmtiFrameInfo { method, location: i as i64 });
                    }
                    for i in 0..depth {
                        let jvmtiFrameInfo { method, location } = room.frame(i);
                        room.show(
                            i,
                            JVMPI_CallFrame { lineno: location as i32, method_id: method },
                        );
                    }
                });
            }
            for (i, frame) in frames.iter().enumerate() {
                assert_eq!((frame.lineno, frame.method_id.addr()), (i as i32, 8 * i), "of {depth}");
            }
        }
    }
}
