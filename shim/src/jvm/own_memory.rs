//! Memory of this process of which it is not known whether it is there: the kernel reads it, and refuses where
//! there is none.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// Fills `bytes` with what is at the address; false unless all of it is there.
pub fn read(address: usize, bytes: &mut [u8]) -> bool {
    // It is not kept open: a program may close all files that it does not know, and give their numbers to others.
    File::open("/proc/self/mem")
        .is_ok_and(|memory| memory.read_exact_at(bytes, address as u64).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_memory_that_is_there_is_read() {
        let there = [1_u8, 2, 3];
        let mut bytes = [0; 3];
        assert!(read(there.as_ptr().expose_provenance(), &mut bytes));
        assert_eq!(bytes, there);
        assert!(!read(0, &mut bytes));
        assert!(!read(usize::MAX, &mut bytes));
    }
}
