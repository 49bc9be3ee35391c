//! Files made without recording, and the memory of events.

use crate::trace::events;
use crate::trace::fields::Fields;
use crate::trace::file::{self, Header};
use crate::trace::state::{Out, tag};
use jvmpi_formats::dump::{Kind, Monitors};
use jvmpi_sys::{JVMPI_EVENT_MONITOR_DUMP, JVMPI_Event, JVMPI_REQUESTED_EVENT};
use std::ffi::{CStr, c_char};
use std::hint::black_box;
use std::{ptr, slice};

/// Returns a file with these records, each of a thread of its own.
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

/// Returns a file of damaged chunks whose lengths and checksums are right again, so that their records are read. The
/// threads have numbers below `threads`.
#[must_use]
pub fn repaired(chunks: &[u8], threads: u32) -> Vec<u8> {
    let mut bytes = file::head("word=8\n");
    let mut rest = chunks;
    while let Some((head, behind)) = rest.split_first_chunk::<{ Header::SIZE }>() {
        let mut header = Header::from_bytes(head);
        let count = usize::try_from(header.length).unwrap_or(usize::MAX).min(behind.len());
        let (records, next) = behind.split_at(count);
        header.length = records.len() as u64;
        header.thread %= threads;
        bytes.extend_from_slice(&header.write(&[records]));
        bytes.extend_from_slice(records);
        rest = next;
    }
    bytes
}

/// Reads all memory that the event points to, as an agent may.
///
/// # Safety
/// The event is one that a handler gets, and its handler has not returned.
pub unsafe fn read_event(event: &JVMPI_Event) {
    let mut u = event.u;
    // SAFETY: the union member of an event's type is filled.
    unsafe { events::fields(&mut ReadAll, event.event_type, &mut u) };
    if event.event_type & !JVMPI_REQUESTED_EVENT == JVMPI_EVENT_MONITOR_DUMP {
        // SAFETY: as above; the names of raw monitors are strings.
        unsafe {
            let (begin, end) = (u.monitor_dump.begin.cast::<u8>(), u.monitor_dump.end.addr());
            let dump = match end - begin.addr() {
                0 => &[],
                count => slice::from_raw_parts(begin, count),
            };
            for monitor in Monitors::new(dump).map_while(Result::ok) {
                if let Kind::Raw { name, .. } = monitor.kind {
                    ReadAll.text("name", ptr::with_exposed_provenance_mut(name));
                }
            }
        }
    }
}

/// Reads the memory behind each field.
struct ReadAll;

impl Fields for ReadAll {
    unsafe fn text(&mut self, _: &'static str, value: *mut c_char) -> *mut c_char {
        if !value.is_null() {
            // SAFETY: as the caller promises.
            _ = black_box(unsafe { CStr::from_ptr(value) }.to_bytes().len());
        }
        value
    }

    unsafe fn bytes(&mut self, _: &'static str, start: *mut u8, count: usize) -> (*mut u8, usize) {
        // SAFETY: as the caller promises.
        unsafe { self.code(start, count) };
        (start, count)
    }

    unsafe fn code(&mut self, start: *mut u8, count: usize) {
        if count > 0 {
            // SAFETY: as the caller promises.
            let bytes = unsafe { slice::from_raw_parts(start, count) };
            _ = black_box(bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)));
        }
    }
}
