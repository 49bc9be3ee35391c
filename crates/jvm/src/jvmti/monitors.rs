//! The owners of monitors and the threads that wait for them.

use super::{Allocated, Jvmti, Result, functions, jvmti};
use jni_sys::jobject;
use jvmpi_jvmti_sys::{jthread, jvmtiMonitorUsage};

/// The result of `GetObjectMonitorUsage`, with local references.
pub struct MonitorUsage {
    /// The owner; NULL if there is none, or if it is a virtual thread.
    pub owner: jthread,
    pub entry_count: u32,
    /// The threads that wait to enter. Up to JDK 22 (JDK-8247972) also those that wait to be notified.
    pub waiters: Allocated<jthread>,
    /// The threads that wait to be notified.
    pub notify_waiters: Allocated<jthread>,
}

functions! {
    /// Returns the monitors that a thread owns, as local references.
    pub fn owned_monitors(thread: jthread) -> Array<jobject> = GetOwnedMonitorInfo(thread);
    /// Returns the monitor that a thread waits to enter, as a local reference; NULL if there is none. Up to JDK 22
    /// (JDK-8256314) this is also the monitor in which it waits to be notified.
    pub fn contended_monitor(thread: jthread) -> Value<jobject>
        = GetCurrentContendedMonitor(thread);
}

impl Jvmti {
    /// Returns the usage of an object's monitor. From JDK 17 on this needs a safepoint.
    pub fn monitor_usage(self, object: jobject) -> Result<MonitorUsage> {
        let mut usage = jvmtiMonitorUsage::default();
        jvmti!(self, GetObjectMonitorUsage, object, &mut usage)?;
        Ok(MonitorUsage {
            owner: usage.owner,
            entry_count: u32::try_from(usage.entry_count).unwrap_or(0),
            waiters: self.array(usage.waiters, usage.waiter_count),
            notify_waiters: self.array(usage.notify_waiters, usage.notify_waiter_count),
        })
    }
}
