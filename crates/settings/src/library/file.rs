//! The bytes of a library's file.

use super::error::LibraryError;
use object::ReadRef;
use std::fs::{self, File};
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;

/// A file with sections that may overlap and strings that may lack an end. A name of more than 4 KiB is an error, so
/// that reading the names of many symbols takes no longer than the file is long.
#[derive(Clone, Copy)]
pub struct Bounded<'data>(pub &'data [u8]);

impl<'data> ReadRef<'data> for Bounded<'data> {
    fn len(self) -> Result<u64, ()> {
        self.0.len().try_into().map_err(|_| ())
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'data [u8], ()> {
        self.0.read_bytes_at(offset, size)
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'data [u8], ()> {
        const LONGEST: u64 = 4096;
        let end = range.end.min(range.start.saturating_add(LONGEST));
        self.0.read_bytes_at_until(range.start..end, delimiter)
    }
}

/// Reads a regular file, and refuses a file that is too large for a library.
pub fn read_file(path: &Path) -> Result<Vec<u8>, LibraryError> {
    const LARGEST: u64 = 1 << 30;
    let read = || {
        // Opening a pipe would wait for its writer.
        let metadata = fs::metadata(path)?;
        if metadata.is_file() && metadata.len() > LARGEST {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let mut data = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
        if metadata.is_file() || metadata.is_dir() {
            File::open(path)?.take(LARGEST).read_to_end(&mut data)?;
        }
        Ok(data)
    };
    read().map_err(|error| unreadable(path, error))
}

/// Returns the error of a file that cannot be opened or read.
pub fn unreadable(path: &Path, error: io::Error) -> LibraryError {
    match error.kind() {
        io::ErrorKind::NotFound => LibraryError::no_file(path),
        _ => LibraryError::new(
            path,
            format_args!("cannot be read: {error}: give this user access to it"),
        ),
    }
}
