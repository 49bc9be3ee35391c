//! The memory that the system can still give, and address space that becomes memory in steps.

use std::ops::{Deref, DerefMut, Range};
use std::ptr::{self, NonNull};
use std::slice;
use windows_sys::Win32::System::Memory::{
    MEM_COMMIT, MEM_RELEASE, MEM_RESERVE, PAGE_NOACCESS, PAGE_READWRITE, VirtualAlloc, VirtualFree,
};
use windows_sys::Win32::System::SystemInformation::{GlobalMemoryStatusEx, MEMORYSTATUSEX};

/// Returns the bytes of memory that the system can still give without taking any from programs; None if they are
/// not known.
pub fn available() -> Option<usize> {
    // SAFETY: the structure is plain data, for which zeros are a value.
    let mut status: MEMORYSTATUSEX = unsafe { std::mem::zeroed() };
    status.dwLength = size_of::<MEMORYSTATUSEX>() as u32;
    // SAFETY: the structure is a local variable and has its length.
    let is_known = unsafe { GlobalMemoryStatusEx(&raw mut status) } != 0;
    is_known.then_some(status.ullAvailPhys.min(status.ullAvailPageFile) as usize)
}

/// Address space. The part at its beginning is memory, zero at first.
pub struct Reserved {
    start: NonNull<u8>,
    bytes: usize,
    committed: usize,
}

// SAFETY: the memory belongs to this value alone.
unsafe impl Send for Reserved {}
// SAFETY: as above; changes need a unique reference.
unsafe impl Sync for Reserved {}

impl Reserved {
    /// Reserves this many bytes; None if there is no such space.
    pub fn new(bytes: usize) -> Option<Self> {
        // SAFETY: new address space, where the system likes it.
        let start = unsafe { VirtualAlloc(ptr::null(), bytes, MEM_RESERVE, PAGE_NOACCESS) };
        NonNull::new(start.cast()).map(|start| Self { start, bytes, committed: 0 })
    }

    /// Returns the bytes of the address space.
    pub fn size(&self) -> usize {
        self.bytes
    }

    /// Makes these bytes, which follow the memory there is, memory too. Returns false if the system has none. Large pages
    /// need a privilege here and are not asked for.
    pub fn commit(&mut self, bytes: Range<usize>, _is_large: bool) -> bool {
        if bytes.start != self.committed || bytes.end > self.bytes {
            return false;
        }
        // SAFETY: the bytes are within the address space.
        let given = unsafe {
            let start = self.start.add(bytes.start).as_ptr().cast();
            VirtualAlloc(start, bytes.len(), MEM_COMMIT, PAGE_READWRITE)
        };
        if !given.is_null() {
            self.committed = bytes.end;
        }
        !given.is_null()
    }
}

impl Deref for Reserved {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: these bytes are memory, and borrowed as long as `self`.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.committed) }
    }
}

impl DerefMut for Reserved {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.committed) }
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        // SAFETY: the space was reserved as a whole, and nothing uses it any more.
        unsafe { VirtualFree(self.start.as_ptr().cast(), 0, MEM_RELEASE) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_space_becomes_memory_in_steps() {
        let mut space = Reserved::new(1 << 40).unwrap();
        assert!(space.is_empty() && !space.commit(1 << 16..1 << 17, false));
        assert!(space.commit(0..1 << 16, false) && space.commit(1 << 16..1 << 18, true));
        space[(1 << 18) - 1] = 7;
        assert_eq!((space.len(), space[0], space.size()), (1 << 18, 0, 1 << 40));
        assert!(available().is_some_and(|bytes| bytes > 1 << 20));
    }
}
