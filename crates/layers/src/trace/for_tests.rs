//! Files made without recording, and the memory of events.

use crate::trace::events;
use crate::trace::file::{self, Header};
use jvmpi_formats::dump::{Kind, read_monitors};
use jvmpi_sys::{JVMPI_EVENT_MONITOR_DUMP, JVMPI_Event, JVMPI_REQUESTED_EVENT};
use std::ffi::CStr;
use std::hint::black_box;
use std::{ptr, slice};

/// Returns a file with these records, each of a thread of its own.
#[must_use]
pub fn file(threads: &[&[u8]]) -> Vec<u8> {
    let mut bytes = file::head("word=8\n");
    for (thread, records) in (0..).zip(threads) {
        let header = Header { thread, flags: Header::FRESH, ..Header::default() };
        bytes.extend(header.chunk(&[records]));
    }
    bytes
}

/// Returns a file of damaged chunks whose lengths and checksums are right again, so that their records are read. The
/// threads have numbers below `threads`.
#[must_use]
pub fn repaired(chunks: &[u8], threads: u32) -> Vec<u8> {
    let mut bytes = file::head("word=8\n");
    let mut rest = chunks;
    while let Some((head, behind)) = rest.split_first_chunk::<{ Header::SIZE }>() {
        let (mut header, length) = Header::from_bytes(head);
        let count = usize::try_from(length).unwrap_or(usize::MAX).min(behind.len());
        let (records, next) = behind.split_at(count);
        header.thread %= threads;
        bytes.extend(header.chunk(&[records]));
        rest = next;
    }
    bytes
}

/// Reads all memory that the event points to, as an agent may.
///
/// # Safety
/// The event is one that a handler gets, and its handler has not returned.
pub unsafe fn read_event(event: &JVMPI_Event) {
    // SAFETY: the union member of an event's type is filled.
    drop(black_box(unsafe { events::content(event.event_type, &event.u) }));
    if event.event_type & !JVMPI_REQUESTED_EVENT == JVMPI_EVENT_MONITOR_DUMP {
        // SAFETY: as above; the names of raw monitors are strings.
        unsafe {
            let u = event.u.monitor_dump;
            let (begin, end) = (u.begin.cast::<u8>(), u.end.addr());
            let dump = match end - begin.addr() {
                0 => &[],
                count => slice::from_raw_parts(begin, count),
            };
            for monitor in read_monitors(dump).map_while(Result::ok) {
                if let Kind::Raw { name, .. } = monitor.kind {
                    let name = CStr::from_ptr(ptr::with_exposed_provenance(name));
                    _ = black_box(name.to_bytes().len());
                }
            }
        }
    }
}
