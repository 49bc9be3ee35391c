//! Checks the calls of the functions of raw monitors.

use crate::check::Check;
use crate::check::monitors::{Monitor, Named};
use crate::check::rules;
use crate::check::thread::Thread;
use jni_sys::jlong;
use jvmpi_sys::{JVMPI_RawMonitor, Mode};
use std::ffi::{CStr, CString, c_char};
use std::ptr;
use std::sync::atomic::Ordering;

impl Check {
    /// Returns the monitor, if it is one that may be used.
    fn monitor(&self, function: &str, id: JVMPI_RawMonitor, thread: &Thread) -> Option<&Monitor> {
        let known = self.monitors.all.get(id.addr());
        let rule = match known {
            Some(monitor) if monitor.is_destroyed.load(Ordering::Acquire) => {
                rules::MONITOR_DESTROYED
            }
            None if id.is_null() || self.monitors.all.lacks(id.addr()) => rules::MONITOR_UNKNOWN,
            known => return known,
        };
        self.findings.report(rule, format!("{function}({}){thread}", Named(id, known)));
        None
    }

    /// Returns the monitor, if the current thread owns it; else reports that the rule is broken.
    fn owned_monitor(
        &self,
        function: &str,
        id: JVMPI_RawMonitor,
        thread: &Thread,
        rule: &'static rules::Rule,
    ) -> Option<&Monitor> {
        let monitor = self.monitor(function, id, thread)?;
        if monitor.owner.load(Ordering::Acquire) == thread.number {
            return Some(monitor);
        }
        self.findings.report(rule, format!("{function}({}){thread}", Named(id, Some(monitor))));
        None
    }

    /// A monitor was created.
    ///
    /// # Safety
    /// The name is NULL or a string.
    pub unsafe fn created(&self, id: JVMPI_RawMonitor, name: *mut c_char) {
        if id.is_null() {
            return;
        }
        if let Some(monitor) = self.monitors.all.put(id.addr()) {
            // SAFETY: as the caller promises.
            let name = (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_owned());
            let name = name.map_or(ptr::null_mut(), CString::into_raw);
            monitor.name.store(name, Ordering::Release);
            monitor.owner.store(0, Ordering::Release);
            monitor.taken_in_gc_start.store(false, Ordering::Release);
            monitor.owned_at_disable_gc.store(false, Ordering::Release);
            monitor.is_destroyed.store(false, Ordering::Release);
        }
    }

    /// A monitor is about to be entered.
    pub fn check_enter(&self, id: JVMPI_RawMonitor, thread: &Thread) {
        let Some(monitor) = self.monitor("RawMonitorEnter", id, thread) else { return };
        if monitor.owner.load(Ordering::Acquire) == thread.number {
            return;
        }
        if thread.mode() == Mode::STOPPED {
            let what = format!("RawMonitorEnter({}){thread}", Named(id, Some(monitor)));
            self.findings.report(rules::STOPPED_ENTER, what);
        }
        self.check_order(id, monitor, thread);
    }

    /// A monitor was entered.
    pub fn entered(&self, id: JVMPI_RawMonitor, thread: &Thread) {
        let Some(monitor) = self.monitors.all.get(id.addr()) else { return };
        if monitor.is_destroyed.load(Ordering::Acquire) {
            return;
        }
        if monitor.owner.swap(thread.number, Ordering::AcqRel) == thread.number {
            monitor.entered.fetch_add(1, Ordering::Relaxed);
        } else {
            monitor.entered.store(1, Ordering::Relaxed);
            thread.take(id.addr());
        }
    }

    fn check_order(&self, id: JVMPI_RawMonitor, monitor: &Monitor, thread: &Thread) {
        if thread.bracket.get().is_some() && !monitor.taken_in_gc_start.swap(true, Ordering::AcqRel)
        {
            self.check_gc_order("RawMonitorEnter", id, monitor, thread);
        }
        let owned = thread.owned.borrow();
        if owned.is_empty() {
            return;
        }
        // Most of the time it is the same again.
        let sum = thread.owned_sum.get().rotate_left(7) ^ id.addr();
        let place = &thread.orders[(sum >> 4) % thread.orders.len()];
        if place.replace(sum) == sum {
            return;
        }
        // A thread that holds this lock may be suspended. An order missed now is seen another time.
        let Ok(mut orders) = self.monitors.orders.try_lock() else { return place.set(0) };
        if orders.note(thread, &owned, id.addr()) {
            drop(orders);
            let what = format!(
                "RawMonitorEnter({}){thread}, by a thread that owns {}; other threads enter them in another order",
                Named(id, Some(monitor)),
                self.named(&owned)
            );
            self.findings.report(rules::MONITOR_ORDER, what);
        }
    }

    /// DisableGC is about to be called.
    pub fn check_order_of_disable_gc(&self, thread: &Thread) {
        for owned in thread.owned.borrow().iter() {
            if let Some(monitor) = self.monitors.all.get(*owned) {
                monitor.owned_at_disable_gc.store(true, Ordering::Release);
                let id = ptr::without_provenance_mut(*owned);
                self.check_gc_order("DisableGC", id, monitor, thread);
            }
        }
    }

    fn check_gc_order(
        &self,
        function: &str,
        id: JVMPI_RawMonitor,
        monitor: &Monitor,
        thread: &Thread,
    ) {
        if monitor.taken_in_gc_start.load(Ordering::Acquire)
            && monitor.owned_at_disable_gc.load(Ordering::Acquire)
        {
            let monitor = Named(id, Some(monitor));
            let what = format!(
                "{function}{thread}: {monitor} is entered in GC_START, and owned by a thread that calls DisableGC"
            );
            self.findings.report(rules::GC_ORDER, what);
        }
    }

    /// A monitor is about to be left.
    pub fn exit(&self, id: JVMPI_RawMonitor, thread: &Thread) {
        let owned = self.owned_monitor("RawMonitorExit", id, thread, rules::MONITOR_EXIT);
        if let Some(monitor) = owned
            && monitor.entered.fetch_sub(1, Ordering::Relaxed) == 1
        {
            monitor.owner.store(0, Ordering::Release);
            thread.give(id.addr());
        }
    }

    /// A wait is about to begin.
    pub fn begin_wait(&self, id: JVMPI_RawMonitor, ms: jlong, thread: &Thread) {
        if ms < 0 {
            self.findings
                .report(rules::ARGUMENT_RANGE, format!("RawMonitorWait({id:?}, {ms}){thread}"));
        }
        let owned = self.owned_monitor("RawMonitorWait", id, thread, rules::MONITOR_WAIT);
        let Some(monitor) = owned else { return };
        thread.waits_with.set(monitor.entered.load(Ordering::Relaxed));
        monitor.waiting.fetch_add(1, Ordering::AcqRel);
        monitor.owner.store(0, Ordering::Release);
    }

    /// A wait has ended.
    pub fn end_wait(&self, id: JVMPI_RawMonitor, thread: &Thread) {
        let entered = thread.waits_with.take();
        let Some(monitor) = self.monitors.all.get(id.addr()).filter(|_| entered > 0) else {
            return;
        };
        monitor.owner.store(thread.number, Ordering::Release);
        monitor.entered.store(entered, Ordering::Relaxed);
        monitor.waiting.fetch_sub(1, Ordering::AcqRel);
    }

    /// Threads that wait on a monitor are about to be notified.
    pub fn notify(&self, id: JVMPI_RawMonitor, thread: &Thread) {
        self.owned_monitor("RawMonitorNotifyAll", id, thread, rules::MONITOR_NOTIFY);
    }

    /// A monitor is about to be destroyed.
    pub fn destroy(&self, id: JVMPI_RawMonitor, thread: &Thread) {
        let Some(monitor) = self.monitor("RawMonitorDestroy", id, thread) else { return };
        let owner = monitor.owner.load(Ordering::Acquire);
        let waiting = monitor.waiting.load(Ordering::Acquire);
        if owner != 0 || waiting != 0 {
            let who = match waiting {
                0 if owner == thread.number => "which this thread owns".to_owned(),
                0 => "which another thread owns".to_owned(),
                _ => format!("on which {waiting} threads wait"),
            };
            let what = format!("RawMonitorDestroy({}){thread}, {who}", Named(id, Some(monitor)));
            self.findings.report(rules::MONITOR_DESTROY, what);
        }
        thread.give(id.addr());
        monitor.is_destroyed.store(true, Ordering::Release);
        if let Ok(mut orders) = self.monitors.orders.lock() {
            orders.forget(id.addr());
        }
    }

    /// Returns the raw monitors that a handler has left behind, for a message.
    pub fn owned_by(&self, thread: &Thread) -> String {
        match &thread.owned.borrow()[..] {
            [] => "none".to_owned(),
            owned => self.named(owned),
        }
    }

    fn named(&self, monitors: &[usize]) -> String {
        let name = |id: &usize| {
            Named(ptr::without_provenance_mut(*id), self.monitors.all.get(*id)).to_string()
        };
        monitors.iter().map(name).collect::<Vec<_>>().join(", ")
    }
}
