//! The events of monitors and raw monitors.

use crate::{ModifiedUtf8, ObjectId, RawMonitorId};
use jvmpi_sys::{JVMPI_Event_monitor_wait, JVMPI_Event_raw_monitor};

/// MONITOR_WAIT and MONITOR_WAITED.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MonitorWait {
    /// The object; `None` for `Thread.sleep`.
    pub object: Option<ObjectId>,
    /// A time in milliseconds. In MONITOR_WAIT, the timeout, where 0 means no limit; in MONITOR_WAITED, the time
    /// that the thread waited.
    pub timeout: i64,
}

impl MonitorWait {
    pub(crate) fn of(event: JVMPI_Event_monitor_wait) -> Self {
        Self { object: ObjectId::of(event.object), timeout: event.timeout }
    }
}

/// RAW_MONITOR_CONTENDED_ENTER, _ENTERED and _EXIT. Not sent for monitors whose name begins with `_`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RawMonitorContended<'e> {
    /// The monitor.
    pub monitor: RawMonitorId,
    /// Its name.
    pub name: ModifiedUtf8<'e>,
}

impl<'e> RawMonitorContended<'e> {
    pub(crate) fn of(event: &'e JVMPI_Event_raw_monitor) -> Option<Self> {
        // SAFETY: what the event points to lives as long as it.
        let name = unsafe { ModifiedUtf8::of(event.name) };
        Some(Self { monitor: RawMonitorId::of(event.id)?, name })
    }
}
