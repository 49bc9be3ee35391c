//! HEAP_DUMP, OBJECT_DUMP and MONITOR_DUMP.

use crate::call_trace::{CallTrace, slice, traces};
use crate::{ModifiedUtf8, ThreadStatus};
use jvmpi_formats::dump::{self, Classes, Kind, Level, Listed, Malformed, Record};
use jvmpi_sys::{JVMPI_Event_heap_dump, JVMPI_Event_monitor_dump, JVMPI_Event_object_dump};
use std::ffi::c_char;
use std::{fmt, ptr};

/// Returns the bytes from `begin` up to `end`.
///
/// # Safety
/// Both are NULL, or they delimit memory that is valid for `'e`.
unsafe fn bytes<'e>(begin: *const c_char, end: *const c_char) -> &'e [u8] {
    if begin.is_null() {
        return &[];
    }
    // SAFETY: as the caller promises.
    unsafe { std::slice::from_raw_parts(begin.cast(), end.addr().saturating_sub(begin.addr())) }
}

/// HEAP_DUMP: a dump of the heap.
#[derive(Clone, Copy)]
pub struct HeapDump<'e>(&'e JVMPI_Event_heap_dump);

impl<'e> HeapDump<'e> {
    pub(crate) fn of(event: &'e JVMPI_Event_heap_dump) -> Self {
        Self(event)
    }

    /// Returns the level, which determines the contents of the dump.
    ///
    /// # Panics
    /// Panics if the VM reports a level that the specification does not define.
    pub fn level(&self) -> Level {
        Level::from_number(self.0.dump_level).expect("the VM sent a heap dump of unknown level")
    }

    /// Returns the undecoded records.
    pub fn bytes(&self) -> &'e [u8] {
        // SAFETY: what the event points to lives as long as it.
        unsafe { bytes(self.0.begin, self.0.end) }
    }

    /// Returns the objects in a dump of level 0.
    pub fn objects(&self) -> impl Iterator<Item = Result<Listed, Malformed>> + use<'e> {
        dump::read_list(self.bytes())
    }

    /// Returns the records in a dump of level 1 or 2. Decoding them needs the layout of the classes from their
    /// CLASS_LOAD events.
    pub fn records<'a, C: Classes>(
        &self,
        classes: &'a C,
    ) -> impl Iterator<Item = Result<Record<'a>, Malformed>> + use<'a, 'e, C>
    where
        'e: 'a,
    {
        dump::read_records(self.bytes(), self.level(), classes)
    }

    /// Returns the stack traces that root records refer to; none at level 0.
    pub fn traces(&self) -> impl ExactSizeIterator<Item = CallTrace<'e>> + Clone + use<'e> {
        // SAFETY: what the event points to lives as long as it.
        unsafe { traces(self.0.num_traces, self.0.traces) }
    }
}

impl fmt::Debug for HeapDump<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("HeapDump");
        f.field("level", &self.0.dump_level).field("bytes", &self.bytes().len());
        f.field("traces", &self.0.num_traces).finish()
    }
}

/// OBJECT_DUMP: one record of level 2.
#[derive(Clone, Copy, Debug)]
pub struct ObjectDump<'e>(&'e [u8]);

impl<'e> ObjectDump<'e> {
    pub(crate) fn of(event: &'e JVMPI_Event_object_dump) -> Self {
        // SAFETY: what the event points to lives as long as it.
        Self(unsafe { slice(event.data.cast(), event.data_len) })
    }

    /// Returns the undecoded record.
    pub fn bytes(&self) -> &'e [u8] {
        self.0
    }

    /// Returns the record. Decoding it needs the layout of the classes from their CLASS_LOAD events.
    pub fn records<'a, C: Classes>(
        &self,
        classes: &'a C,
    ) -> impl Iterator<Item = Result<Record<'a>, Malformed>> + use<'a, 'e, C>
    where
        'e: 'a,
    {
        dump::read_records(self.0, Level::Values, classes)
    }
}

/// MONITOR_DUMP: a dump of all monitors and threads.
#[derive(Clone, Copy)]
pub struct MonitorDump<'e>(&'e JVMPI_Event_monitor_dump);

impl<'e> MonitorDump<'e> {
    pub(crate) fn of(event: &'e JVMPI_Event_monitor_dump) -> Self {
        Self(event)
    }

    /// Returns the undecoded records.
    pub fn bytes(&self) -> &'e [u8] {
        // SAFETY: what the event points to lives as long as it.
        unsafe { bytes(self.0.begin, self.0.end) }
    }

    /// Returns the monitors; raw monitors with their names.
    pub fn monitors(
        &self,
    ) -> impl Iterator<Item = Result<(dump::Monitor, Option<ModifiedUtf8<'e>>), Malformed>> + use<'e>
    {
        dump::read_monitors(self.bytes()).map(|monitor| {
            let monitor = monitor?;
            let name = match monitor.kind {
                Kind::Java { .. } => None,
                Kind::Raw { name, .. } => {
                    // SAFETY: it is a string of the VM that lives as long as the event.
                    Some(unsafe { ModifiedUtf8::of(ptr::with_exposed_provenance(name)) })
                }
            };
            Ok((monitor, name))
        })
    }

    /// Returns all live threads, with stack trace and status.
    pub fn threads(
        &self,
    ) -> impl ExactSizeIterator<Item = (CallTrace<'e>, Option<ThreadStatus>)> + Clone + use<'e>
    {
        // SAFETY: what the event points to lives as long as it.
        let traces = unsafe { traces(self.0.num_traces, self.0.traces) };
        // SAFETY: as above.
        let statuses = unsafe { slice(self.0.threads_status, self.0.num_traces) };
        traces.zip(statuses.iter().map(|status| ThreadStatus::of(*status)))
    }
}

impl fmt::Debug for MonitorDump<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("MonitorDump");
        f.field("bytes", &self.bytes().len()).field("threads", &self.0.num_traces).finish()
    }
}
