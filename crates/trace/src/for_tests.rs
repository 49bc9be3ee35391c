//! Files that nobody has recorded.

use crate::file::{self, Header};

/// A file with these records, each of a thread of its own.
#[must_use]
pub fn file(threads: &[&[u8]]) -> Vec<u8> {
    let mut bytes = file::head("word=8\n");
    for (thread, records) in (0..).zip(threads) {
        let length = records.len() as u64;
        let header = Header { length, thread, flags: Header::FRESH, ..Header::default() };
        bytes.extend_from_slice(&header.write(&[records]));
        bytes.extend_from_slice(records);
    }
    bytes
}
