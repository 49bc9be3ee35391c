//! Reads memory of this process that may not be mapped. The kernel does the reading, and fails where nothing is
//! mapped.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// Fills `bytes` from the memory at `address`. Returns false unless all of it is mapped.
pub fn read(address: usize, bytes: &mut [u8]) -> bool {
    // The file is not kept open, because a program may close all file descriptors that it does not know and reuse them.
    File::open("/proc/self/mem")
        .is_ok_and(|memory| memory.read_exact_at(bytes, address as u64).is_ok())
}
