//! Memory that grows without being moved or copied. Address space is reserved once; its pages become memory as the buffer
//! grows. A buffer whose size is known is simply allocated.

use crate::platform::{Reserved, available};
use std::fmt;
use std::ops::{Deref, DerefMut};

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
/// The least number of bytes that are granted at a time; a multiple of any page size.
const STEP: usize = 1 << 16;
/// A piece of memory that is larger may be one that the system, or a container, cannot bear.
const CHECKED: usize = 1 << 20;
/// A buffer that is larger is worth large pages.
const LARGE: usize = 1 << 26;

/// A block of bytes that grows at its end.
pub struct Buffer {
    space: Space,
    /// The bytes that are in use. Those behind are zero.
    length: usize,
    /// The bytes of the space that the system could bear when it was asked.
    granted: usize,
}

/// The memory of a buffer.
enum Space {
    Reserved(Reserved),
    Allocated(Box<[u8]>),
}

impl Space {
    #[inline]
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Reserved(space) => space,
            Self::Allocated(block) => block,
        }
    }

    /// Returns the bytes that it can have.
    fn size(&self) -> usize {
        match self {
            Self::Reserved(space) => space.size(),
            Self::Allocated(block) => block.len(),
        }
    }
}

impl Buffer {
    /// Returns an empty buffer.
    pub fn new() -> Result<Self, Full> {
        let space = reserve().ok_or(Full)?;
        Ok(Self { space: Space::Reserved(space), length: 0, granted: 0 })
    }

    /// Returns an empty buffer for at most this many bytes.
    pub fn with_capacity(bytes: usize) -> Result<Self, Full> {
        if bytes > CHECKED && available().is_some_and(|memory| bytes > memory) {
            return Err(Full);
        }
        let mut block = Vec::new();
        block.try_reserve_exact(bytes).map_err(|_| Full)?;
        block.resize(bytes, 0);
        Ok(Self { space: Space::Allocated(block.into()), length: 0, granted: bytes })
    }

    /// Appends `count` bytes that are zero; the position of the first.
    #[inline]
    pub fn extend(&mut self, count: usize) -> Result<usize, Full> {
        let position = self.length;
        let length = position.checked_add(count).ok_or(Full)?;
        if length > self.granted {
            self.grow(length)?;
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
    fn grow(&mut self, length: usize) -> Result<(), Full> {
        let wanted = length - self.granted;
        let room = self.space.size() - self.granted;
        let is_large = length > LARGE;
        let ahead = if is_large { self.granted / 8 } else { self.granted };
        let step_of = |ahead: usize| wanted.max(ahead).min(room).next_multiple_of(STEP);
        let fits = |step: &usize| {
            *step <= room && (*step < CHECKED || available().is_none_or(|memory| *step <= memory))
        };
        let steps = [step_of(ahead.max(STEP)), step_of(CHECKED)];
        let step = steps.into_iter().filter(|_| wanted <= room).find(fits).ok_or(Full)?;
        let granted = self.granted + step;
        if let Space::Reserved(space) = &mut self.space
            && !space.commit(self.granted..granted, is_large)
        {
            return Err(Full);
        }
        self.granted = granted;
        Ok(())
    }
}

/// Reserves address space. No memory is behind it until it is granted.
fn reserve() -> Option<Reserved> {
    let smaller = || {
        // The process is limited: others need address space too.
        let sizes = std::iter::successors(Some(RESERVED / 2), |size| Some(size / 2));
        let mut sizes = sizes.take_while(|size| *size >= RESERVED_AT_LEAST);
        let found = sizes.find(|size| Reserved::new(*size).is_some())?;
        Reserved::new(found / 2)
    };
    Reserved::new(RESERVED).or_else(smaller)
}

impl Deref for Buffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.space.bytes()[..self.length]
    }
}

impl DerefMut for Buffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.space {
            Space::Reserved(space) => &mut space[..self.length],
            Space::Allocated(block) => &mut block[..self.length],
        }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} bytes)", self.length)
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
