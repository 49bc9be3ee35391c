//! RAW_MONITOR_CONTENDED_ENTER, ENTERED and EXIT.

use super::announce;
use crate::records::agents;
use crate::sync::raw_monitors::{Contention, RawMonitor};
use crate::threads;
use jvmpi_sys::{
    JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER, JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED,
    JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT, JVMPI_Event_raw_monitor,
};

/// Reports contention of the current thread at a raw monitor. Monitors whose name begins with
/// `_` are private to agents and are not reported.
pub fn contended(monitor: &RawMonitor, what: Contention) {
    let event_type = match what {
        Contention::Enter => JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER,
        Contention::Entered => JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED,
        Contention::Exit => JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT,
    };
    if !agents::anyone_wants(event_type) {
        return;
    }
    let Some(name) = monitor.name().filter(|name| !name.to_bytes().starts_with(b"_")) else {
        return;
    };
    let Some((jni, thread)) = threads::current_attached() else { return };
    let raw_monitor =
        JVMPI_Event_raw_monitor { name: name.as_ptr().cast_mut(), id: monitor.handle() };
    announce::send_to_all(jni, &thread, event_type, raw_monitor);
}
