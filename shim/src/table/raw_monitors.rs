//! RawMonitorCreate, Enter, Exit, Wait, NotifyAll and Destroy, and the events that they cause:
//! RAW_MONITOR_CONTENDED_ENTER, ENTERED and EXIT.

use crate::records::agents::{self, Agent};
use crate::sync::raw_monitors::{self, RawMonitor};
use crate::threads;
use crate::translate::announce;
use jni_sys::{jint, jlong};
use jvmpi_sys::{JVMPI_Event_raw_monitor, JVMPI_RawMonitor};
use std::ffi::{CStr, c_char};
use std::time::Duration;

/// # Safety
/// `name` is NULL or a NUL-terminated string.
pub unsafe fn create(_: &Agent, name: *mut c_char) -> JVMPI_RawMonitor {
    // SAFETY: as the caller promises.
    let name = if name.is_null() { c"" } else { unsafe { CStr::from_ptr(name) } };
    raw_monitors::create(name)
}

pub fn enter(_: &Agent, monitor: JVMPI_RawMonitor) {
    with(monitor, |monitor| monitor.enter(contended));
}

pub fn exit(_: &Agent, monitor: JVMPI_RawMonitor) {
    with(monitor, |monitor| monitor.exit(contended));
}

/// Waits `ms` milliseconds, without limit if `ms` is 0 or negative.
pub fn wait(_: &Agent, monitor: JVMPI_RawMonitor, ms: jlong) {
    let at_most = u64::try_from(ms).ok().filter(|ms| *ms > 0).map(Duration::from_millis);
    with(monitor, |monitor| monitor.wait(at_most, contended));
}

pub fn notify_all(_: &Agent, monitor: JVMPI_RawMonitor) {
    with(monitor, |monitor| monitor.notify_all());
}

pub fn destroy(_: &Agent, monitor: JVMPI_RawMonitor) {
    with(monitor, |monitor| monitor.destroy());
}

fn with(handle: JVMPI_RawMonitor, operation: impl FnOnce(RawMonitor)) {
    if let Some(monitor) = raw_monitors::get(handle) {
        operation(monitor);
    }
}

/// Reports contention of the current thread at a raw monitor. Monitors whose name begins with
/// `_` are private to agents and are not reported.
fn contended(monitor: &RawMonitor, event_type: jint) {
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
