//! Memory that grows without being moved or copied. Address space is reserved once and turned into memory as
//! it is needed. A buffer whose size is known is simply allocated.

use crate::dump::memory::available;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::slice;

/// The memory for a dump cannot be had.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full;

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is not enough memory")
    }
}

impl std::error::Error for Full {}

/// The address space that is reserved: more than there is memory or, where addresses have 32 bits, more than
/// a process has in addition to a heap.
const RESERVED: usize = if usize::BITS == 64 { 1 << 40 } else { 1 << 30 };
/// The least that is reserved; if the process may not even have that, there is no buffer.
const RESERVED_AT_LEAST: usize = 1 << 24;
/// The least number of bytes that become memory at a time; a multiple of any page size.
const STEP: usize = 1 << 16;
/// A piece of memory that is larger may be one that the system, or a container, cannot bear.
const CHECKED: usize = 1 << 20;
/// A buffer that is larger is worth large pages.
const LARGE: usize = 1 << 26;

/// A block of bytes that grows at its end.
pub struct Buffer {
    start: NonNull<u8>,
    /// The bytes that are in use.
    length: usize,
    /// The bytes that are memory; those beyond `length` are zero.
    committed: usize,
    space: Space,
}

/// The memory of a buffer.
enum Space {
    /// This many bytes of reserved address space.
    Reserved(usize),
    /// An allocated block.
    Allocated(Layout),
}

impl Space {
    fn size(&self) -> usize {
        match self {
            Self::Reserved(size) => *size,
            Self::Allocated(layout) => layout.size(),
        }
    }
}

// SAFETY: the buffer owns its memory.
unsafe impl Send for Buffer {}
// SAFETY: shared, it can only be read.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Returns an empty buffer.
    pub fn new() -> Result<Self, Full> {
        let mut reserved = RESERVED;
        let mut start = reserve(reserved);
        if start.is_none() {
            // The process is limited: others need address space too.
            while start.is_none() && reserved > RESERVED_AT_LEAST {
                reserved /= 2;
                start = reserve(reserved);
            }
            if let Some(found) = start {
                release(found, reserved);
                reserved /= 2;
                start = reserve(reserved);
            }
        }
        let start = start.ok_or(Full)?;
        Ok(Self { start, length: 0, committed: 0, space: Space::Reserved(reserved) })
    }

    /// Returns an empty buffer for at most this many bytes.
    pub fn with_capacity(bytes: usize) -> Result<Self, Full> {
        let layout = Layout::array::<u8>(bytes.max(1)).map_err(|_| Full)?;
        if bytes > CHECKED && available().is_some_and(|memory| bytes > memory) {
            return Err(Full);
        }
        // SAFETY: the size is not zero.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or(Full)?;
        Ok(Self { start, length: 0, committed: layout.size(), space: Space::Allocated(layout) })
    }

    /// Appends `count` bytes that are zero; the position of the first.
    #[inline]
    pub fn extend(&mut self, count: usize) -> Result<usize, Full> {
        let position = self.length;
        let length = position.checked_add(count).ok_or(Full)?;
        if length > self.committed {
            self.commit(length)?;
        }
        self.length = length;
        Ok(position)
    }

    /// Appends bytes.
    #[inline]
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), Full> {
        let position = self.extend(bytes.len())?;
        self[position..].copy_from_slice(bytes);
        Ok(())
    }

    #[cold]
    fn commit(&mut self, length: usize) -> Result<(), Full> {
        let wanted = length - self.committed;
        let room = self.space.size() - self.committed;
        let is_large = length > LARGE;
        let ahead = if is_large { self.committed / 8 } else { self.committed };
        let step_of = |ahead: usize| wanted.max(ahead).min(room).next_multiple_of(STEP);
        let fits = |step: &usize| {
            *step <= room && (*step < CHECKED || available().is_none_or(|memory| *step <= memory))
        };
        let steps = [step_of(ahead.max(STEP)), step_of(CHECKED)];
        let step = steps.into_iter().filter(|_| wanted <= room).find(fits).ok_or(Full)?;
        // SAFETY: the bytes lie in the reserved block, which no other code knows of.
        let start = unsafe { self.start.as_ptr().add(self.committed) }.cast();
        // SAFETY: as above.
        if unsafe { libc::mprotect(start, step, libc::PROT_READ | libc::PROT_WRITE) } != 0 {
            return Err(Full);
        }
        if is_large {
            // SAFETY: as above. That the advice is not taken does no harm.
            unsafe { libc::madvise(start, step, libc::MADV_HUGEPAGE) };
        }
        self.committed += step;
        Ok(())
    }
}

/// Address space without memory behind it.
fn reserve(size: usize) -> Option<NonNull<u8>> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping disturbs nobody.
    let start = unsafe { libc::mmap(ptr::null_mut(), size, libc::PROT_NONE, flags, -1, 0) };
    if start == libc::MAP_FAILED { None } else { NonNull::new(start.cast()) }
}

fn release(start: NonNull<u8>, size: usize) {
    // SAFETY: the callers pass a block that `reserve` returned and that is not used any more.
    unsafe { libc::munmap(start.as_ptr().cast(), size) };
}

impl Deref for Buffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: that many bytes are memory of ours, zero or written.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl DerefMut for Buffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and no other reference exists.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} bytes)", self.length)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        match self.space {
            Space::Reserved(size) => release(self.start, size),
            // SAFETY: the block was allocated with this layout and is not used any more.
            Space::Allocated(layout) => unsafe { dealloc(self.start.as_ptr(), layout) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_where_it_is() {
        let mut buffer = Buffer::new().unwrap();
        buffer.append(b"first").unwrap();
        let start = buffer.as_ptr();
        assert_eq!(buffer.extend(3 * STEP).unwrap(), 5);
        buffer.append(b"last").unwrap();
        assert_eq!((buffer.as_ptr(), buffer.len()), (start, 3 * STEP + 9));
        assert!(buffer.starts_with(b"first") && buffer.ends_with(b"last"));
        assert!(buffer[5..5 + 3 * STEP].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn one_of_known_size_ends_there() {
        let mut buffer = Buffer::with_capacity(8).unwrap();
        assert_eq!(buffer.extend(3).unwrap(), 0);
        buffer.append(b"again").unwrap();
        assert_eq!(&*buffer, b"\0\0\0again");
        assert_eq!(buffer.append(b"!"), Err(Full));
        assert_eq!(buffer.len(), 8);
        assert_eq!(Buffer::with_capacity(0).unwrap().len(), 0);
        assert!(Buffer::with_capacity(usize::MAX).is_err());
    }

    #[test]
    fn more_than_there_can_be_is_refused_and_what_was_there_stays() {
        let mut buffer = Buffer::new().unwrap();
        buffer.append(b"first").unwrap();
        assert_eq!(buffer.extend(RESERVED), Err(Full));
        assert_eq!(buffer.extend(usize::MAX), Err(Full));
        // Address space is no memory, but with 32 bits there may be as much memory as addresses.
        if usize::BITS == 64 {
            assert_eq!(buffer.extend(RESERVED / 2), Err(Full));
        }
        assert_eq!(&*buffer, b"first");
    }
}
