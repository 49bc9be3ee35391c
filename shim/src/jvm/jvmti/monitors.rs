//! Which thread owns a monitor, and which wait for it.

use super::{Allocated, Jvmti, jvmti};
use crate::jvm::error::Result;
use jni_sys::jobject;
use jvmti_sys::{jthread, jvmtiMonitorUsage};
use std::ptr;

/// What `GetObjectMonitorUsage` returns, references in the current frame.
pub struct MonitorUsage {
    /// NULL if no thread owns it, or a virtual one.
    pub owner: jthread,
    pub entry_count: u32,
    /// The threads that wait to enter; up to JDK 22 (JDK-8247972) also those that wait to be
    /// notified.
    pub waiters: Allocated<jthread>,
    /// The threads that wait to be notified.
    pub notify_waiters: Allocated<jthread>,
}

impl Jvmti {
    /// Stops the world from JDK 17 on.
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

    /// The monitors that a thread owns, references in the current frame.
    pub fn owned_monitors(self, thread: jthread) -> Result<Allocated<jobject>> {
        let (mut count, mut monitors) = (0, ptr::null_mut());
        jvmti!(self, GetOwnedMonitorInfo, thread, &mut count, &mut monitors)?;
        Ok(self.array(monitors, count))
    }

    /// The monitor that a thread waits to enter, a reference in the current frame; NULL if it does
    /// not. Up to JDK 22 (JDK-8256314) also the one in which it waits.
    pub fn contended_monitor(self, thread: jthread) -> Result<jobject> {
        let mut monitor = ptr::null_mut();
        jvmti!(self, GetCurrentContendedMonitor, thread, &mut monitor)?;
        Ok(monitor)
    }
}
