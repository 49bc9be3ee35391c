//! RawMonitorCreate, Enter, Exit, Wait, NotifyAll and Destroy.

use crate::records::agents::Agent;
use crate::sync::raw_monitors::{self, RawMonitor};
use crate::translate::raw_monitors::contended;
use jni_sys::jlong;
use jvmpi_sys::JVMPI_RawMonitor;
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
