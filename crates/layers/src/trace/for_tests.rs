//! Files made without recording.

use crate::trace::file::{self, Header};
use crate::trace::state::{Out, tag};

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

/// Returns a recording of threads that take turns. Each has `turns` records of METHOD_ENTRY, of methods 16
/// bytes apart from `0x1000 * (thread + 1)` on. The numbers of each record count from those of the one before.
#[must_use]
pub fn threads_in_turns(threads: u64, turns: u64) -> Vec<u8> {
    let records = |thread: u64| {
        let mut records = Vec::new();
        for turn in 0..turns {
            records.push(tag::PLACE);
            // Places that have passed since the thread's last one, and the time.
            records.number(if turn == 0 { thread } else { threads - 1 });
            records.number(0);
            records.push(tag::ENTRY);
            records.difference(0, if turn == 0 { 0x1000 * (thread + 1) } else { 16 });
        }
        records
    };
    let records: Vec<_> = (0..threads).map(records).collect();
    file(&records.iter().map(Vec::as_slice).collect::<Vec<_>>())
}
