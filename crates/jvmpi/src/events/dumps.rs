//! HEAP_DUMP, OBJECT_DUMP and MONITOR_DUMP.

use crate::call_trace::{CallTrace, slice, traces};
use crate::{ModifiedUtf8, ThreadStatus};
use dump::{Classes, Kind, Level, List, Malformed, Monitors, Records};
use jvmpi_sys::{JVMPI_Event_heap_dump, JVMPI_Event_monitor_dump, JVMPI_Event_object_dump};
use std::ffi::c_char;
use std::{fmt, ptr};

/// What lies from the first byte up to the last one.
///
/// # Safety
/// Both are NULL, or it is memory that lives as long as `'e`.
unsafe fn bytes<'e>(begin: *const c_char, end: *const c_char) -> &'e [u8] {
    if begin.is_null() {
        return &[];
    }
    // SAFETY: as the caller promises.
    unsafe { std::slice::from_raw_parts(begin.cast(), end.addr().saturating_sub(begin.addr())) }
}

/// HEAP_DUMP.
#[derive(Clone, Copy)]
pub struct HeapDump<'e>(&'e JVMPI_Event_heap_dump);

impl<'e> HeapDump<'e> {
    pub(crate) fn of(event: &'e JVMPI_Event_heap_dump) -> Self {
        Self(event)
    }

    /// How much is in it.
    ///
    /// # Panics
    /// If the VM tells of a level that is not in the specification.
    pub fn level(&self) -> Level {
        Level::from_number(self.0.dump_level).expect("the VM has dumped a level that there is not")
    }

    /// The records as they are.
    pub fn bytes(&self) -> &'e [u8] {
        // SAFETY: what the event points to lives as long as it.
        unsafe { bytes(self.0.begin, self.0.end) }
    }

    /// The objects, in a dump of level 0.
    pub fn objects(&self) -> List<'e> {
        List::new(self.bytes())
    }

    /// The records, in a dump of level 1 or 2. What CLASS_LOAD has told of the classes is needed to read
    /// them.
    pub fn records<'a, C: Classes>(&self, classes: &'a C) -> Records<'a, C>
    where
        'e: 'a,
    {
        Records::new(self.bytes(), self.level(), classes)
    }

    /// The stacks that the root records name; none at level 0.
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

    /// The record as it is.
    pub fn bytes(&self) -> &'e [u8] {
        self.0
    }

    /// The record. What CLASS_LOAD has told of the classes is needed to read it.
    pub fn records<'a, C: Classes>(&self, classes: &'a C) -> Records<'a, C>
    where
        'e: 'a,
    {
        Records::new(self.0, Level::Values, classes)
    }
}

/// MONITOR_DUMP.
#[derive(Clone, Copy)]
pub struct MonitorDump<'e>(&'e JVMPI_Event_monitor_dump);

impl<'e> MonitorDump<'e> {
    pub(crate) fn of(event: &'e JVMPI_Event_monitor_dump) -> Self {
        Self(event)
    }

    /// The records as they are.
    pub fn bytes(&self) -> &'e [u8] {
        // SAFETY: what the event points to lives as long as it.
        unsafe { bytes(self.0.begin, self.0.end) }
    }

    /// The monitors, each raw one with its name.
    pub fn monitors(
        &self,
    ) -> impl Iterator<Item = Result<(dump::Monitor, Option<ModifiedUtf8<'e>>), Malformed>> + use<'e>
    {
        Monitors::new(self.bytes()).map(|monitor| {
            let monitor = monitor?;
            let name = match monitor.kind {
                Kind::Java { .. } => None,
                Kind::Raw { name, .. } => {
                    // SAFETY: that is a string of the VM's, which lives as long as the event.
                    Some(unsafe { ModifiedUtf8::of(ptr::with_exposed_provenance(name)) })
                }
            };
            Ok((monitor, name))
        })
    }

    /// All live threads: their stacks, and what they do.
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
