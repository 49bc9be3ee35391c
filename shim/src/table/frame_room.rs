//! The agent's array for the frames of a stack trace.
//!
//! JVMTI writes its own frames into this array, and they are converted to JVMPI frames in place, so a deep trace needs
//! no memory of the shim. With 32-bit pointers JVMTI frames are larger than JVMPI frames. There they are written to
//! the stack, or to a mapping if there are many: malloc must not be called while a suspended thread may own its lock.

use jvm::platform::anonymous_memory;
use jvm::types::jvmtiFrameInfo;
use jvmpi_sys::JVMPI_CallFrame;
use std::mem::{MaybeUninit, align_of, size_of};
use std::slice;

/// True if a JVMTI frame fits in the place of an agent's frame.
const FIT: bool = size_of::<jvmtiFrameInfo>() == size_of::<JVMPI_CallFrame>()
    && align_of::<jvmtiFrameInfo>() == align_of::<JVMPI_CallFrame>();

/// The number of JVMTI frames that go onto the stack where they do not fit.
const FEW: usize = 256;

/// Space for as many JVMTI frames as the agent's array has, which may be the same memory.
pub struct Room {
    walked: *mut MaybeUninit<jvmtiFrameInfo>,
    shown: *mut JVMPI_CallFrame,
    depth: usize,
}

impl Room {
    /// Calls `f` with the space for an agent's array. Does nothing if there is no memory.
    ///
    /// # Safety
    /// `shown` has space for `depth` frames, and no other code uses it during the call.
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

    /// Returns the space for JVMTI's frames.
    pub fn walked(&mut self) -> &mut [MaybeUninit<jvmtiFrameInfo>] {
        // SAFETY: there is space for `depth` frames, which may be uninitialized.
        unsafe { slice::from_raw_parts_mut(self.walked, self.depth) }
    }

    /// Returns a JVMTI frame.
    ///
    /// # Safety
    /// The stack walk wrote this frame, and [`Self::show`] was not called for this index or a later one since.
    pub unsafe fn frame(&self, at: usize) -> jvmtiFrameInfo {
        debug_assert!(at < self.depth);
        // SAFETY: as the caller promises.
        unsafe { self.walked.add(at).read().assume_init() }
    }

    /// Writes a frame to the agent's array.
    pub fn show(&mut self, at: usize, frame: JVMPI_CallFrame) {
        assert!(at < self.depth);
        // SAFETY: `with`'s caller promised `depth` frames, and `at` is below that.
        unsafe { self.shown.add(at).write(frame) };
    }

    /// Returns the number of frames that fit.
    pub fn depth(&self) -> usize {
        self.depth
    }
}

/// A memory mapping for JVMTI frames.
struct Mapping {
    start: *mut jvmtiFrameInfo,
    frames: usize,
}

impl Mapping {
    fn of(frames: usize) -> Option<Self> {
        Some(Self { start: anonymous_memory::map(frames)?, frames })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `of` mapped this number of frames, which are not used any more.
        unsafe { anonymous_memory::unmap(self.start, self.frames) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr;

    #[test]
    fn walked_frames_arrive_in_the_agents_array() {
        for depth in [1, FEW, FEW + 1, 10_000] {
            let mut frames =
                vec![JVMPI_CallFrame { lineno: -9, method_id: ptr::null_mut() }; depth];
            // SAFETY: `frames` has `depth` elements.
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
