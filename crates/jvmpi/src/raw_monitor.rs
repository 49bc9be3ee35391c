//! Raw monitors, with the data that they guard.

use crate::context::mode::MayLock;
use crate::{Context, Jvmpi, MultiThreaded, RawMonitorId, Stopped};
use std::ffi::CStr;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A raw monitor of the VM, and the data that it guards.
///
/// A raw monitor is a reentrant mutex with a condition variable. A thread may enter it twice, so the data is
/// lent as `&T` only; use a `RefCell` to change it.
///
/// The VM sends no RAW_MONITOR events for a monitor whose name begins with `_`.
///
/// ```
/// # use jvmpi::*;
/// # use std::cell::RefCell;
/// # use std::collections::HashMap;
/// type Counts = RawMonitor<RefCell<HashMap<ClassId, u64>>>;
///
/// fn object_alloc(counts: &Counts, jvmpi: &GcDisabled<'_>, class: ClassId) {
///     *counts.enter(jvmpi).borrow_mut().entry(class).or_default() += 1;
/// }
/// ```
///
/// # Monitors during a collection
///
/// No lock may be taken between GC_START and GC_FINISH. Data that the handlers of OBJECT_FREE or OBJECT_MOVE
/// need is locked in the handler of GC_START, with [`keep`](Entered::keep), and unlocked in that of GC_FINISH.
/// The specification guarantees that all of them run on the same thread:
///
/// ```
/// # use jvmpi::*;
/// # use std::cell::RefCell;
/// # use std::collections::HashSet;
/// struct Live {
///     objects: RawMonitor<RefCell<HashSet<ObjectId>>>,
/// }
///
/// impl Agent for Live {
/// #    fn load(jvmpi: &mut OnLoad, _: &str) -> Result<Self, LoadError> {
/// #        Ok(Self { objects: RawMonitor::new(jvmpi, c"_objects", RefCell::default()) })
/// #    }
///     fn object_alloc(&self, jvmpi: &mut GcDisabled<'_>, alloc: ObjectAlloc) {
///         self.objects.enter(jvmpi).borrow_mut().insert(alloc.object());
///     }
///
///     fn gc_start(&self, jvmpi: &mut MultiThreaded<'_>) {
///         self.objects.enter(jvmpi).keep();
///     }
///
///     fn object_free(&self, jvmpi: &mut Stopped<'_>, object: ObjectId) {
///         if let Some(objects) = self.objects.kept(jvmpi) {
///             objects.borrow_mut().remove(&object);
///         }
///     }
///
///     fn gc_finish(&self, jvmpi: &mut MultiThreaded<'_>, _: HeapUse) {
///         self.objects.exit_kept(jvmpi);
///     }
/// }
/// ```
pub struct RawMonitor<T = ()> {
    jvmpi: Jvmpi,
    id: RawMonitorId,
    /// The [`current_thread`] that entered the monitor and called [`Entered::keep`]; 0 for none.
    kept_by: AtomicUsize,
    data: T,
}

// SAFETY: the data is lent only to the thread that is in the monitor, which is one thread at a time.
unsafe impl<T: Send> Sync for RawMonitor<T> {}

/// Returns a number that identifies the current thread among all live threads.
fn current_thread() -> usize {
    thread_local!(static PLACE: u8 = const { 0 });
    PLACE.with(|place| (&raw const *place).addr())
}

impl<T> RawMonitor<T> {
    /// RawMonitorCreate: creates a monitor.
    ///
    /// # Panics
    /// Panics if the VM has no memory for the monitor.
    pub fn new(jvmpi: &Context<'_, impl MayLock>, name: &CStr, data: T) -> Self {
        // SAFETY: these modes permit the call; the VM copies the name and does not change it.
        let id = unsafe { (jvmpi.table().RawMonitorCreate)(name.as_ptr().cast_mut()) };
        let id = RawMonitorId::of(id).expect("no memory for a raw monitor");
        Self { jvmpi: jvmpi.jvmpi(), id, kept_by: AtomicUsize::new(0), data }
    }

    /// Returns the ID of the monitor in events and dumps.
    pub fn id(&self) -> RawMonitorId {
        self.id
    }

    /// RawMonitorEnter: enters the monitor, and first waits until no other thread is in it.
    pub fn enter(&self, _: &Context<'_, impl MayLock>) -> Entered<'_, T> {
        // SAFETY: these modes permit the call; the monitor lives as long as `self`.
        unsafe { (self.jvmpi.table().RawMonitorEnter)(self.id.as_ptr()) };
        Entered { monitor: self, on_thread: PhantomData }
    }

    /// Returns the data if the current thread entered the monitor in GC_START and
    /// [kept](Entered::keep) it.
    pub fn kept<'a>(&'a self, _: &'a Stopped<'_>) -> Option<&'a T> {
        self.is_kept().then_some(&self.data)
    }

    /// Exits the monitor that the current thread has [kept](Entered::keep); returns false if it has not.
    pub fn exit_kept(&self, _: &mut MultiThreaded<'_>) -> bool {
        let kept = self.is_kept();
        if kept {
            self.kept_by.store(0, Ordering::Relaxed);
            // SAFETY: `keep` has left the monitor entered once.
            unsafe { self.exit() };
        }
        kept
    }

    /// Returns true if the current thread has kept the monitor. Only that thread writes and clears its mark.
    fn is_kept(&self) -> bool {
        self.kept_by.load(Ordering::Relaxed) == current_thread()
    }

    /// # Safety
    /// The current thread is in the monitor. It no longer uses the data once it has exited the monitor as often
    /// as it has entered it.
    unsafe fn exit(&self) {
        // SAFETY: the monitor lives as long as `self`.
        unsafe { (self.jvmpi.table().RawMonitorExit)(self.id.as_ptr()) };
    }
}

impl<T> Drop for RawMonitor<T> {
    fn drop(&mut self) {
        // SAFETY: no thread is in the monitor, as an `Entered` would borrow it.
        unsafe { (self.jvmpi.table().RawMonitorDestroy)(self.id.as_ptr()) };
    }
}

impl<T> fmt::Debug for RawMonitor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.id.fmt(f)
    }
}

/// A guard of the thread that has entered a raw monitor; dropping it exits the monitor.
#[must_use = "the monitor is left when this is dropped"]
pub struct Entered<'m, T> {
    monitor: &'m RawMonitor<T>,
    /// Makes the guard `!Send`, as the thread that entered must exit.
    on_thread: PhantomData<*mut T>,
}

impl<T> Entered<'_, T> {
    /// RawMonitorWait: releases the monitor until it is notified or the time is over, and enters it again as
    /// often as before. It may return without a reason.
    pub fn wait(&mut self, jvmpi: &Context<'_, impl MayLock>, at_most: Option<Duration>) {
        // RawMonitorWait takes 0 for an unlimited wait.
        let ms = at_most.map_or(0, |d| i64::try_from(d.as_millis()).unwrap_or(i64::MAX).max(1));
        // SAFETY: these modes permit the call; the thread is in the monitor.
        unsafe { (jvmpi.table().RawMonitorWait)(self.monitor.id.as_ptr(), ms) };
    }

    /// RawMonitorNotifyAll: wakes all threads that wait on the monitor.
    pub fn notify_all(&self, jvmpi: &Context<'_, impl MayLock>) {
        // SAFETY: these modes permit the call; the thread is in the monitor.
        unsafe { (jvmpi.table().RawMonitorNotifyAll)(self.monitor.id.as_ptr()) };
    }

    /// Stays in the monitor until [`RawMonitor::exit_kept`], for the time from GC_START to GC_FINISH.
    pub fn keep(self) {
        if !self.monitor.is_kept() {
            self.monitor.kept_by.store(current_thread(), Ordering::Relaxed);
            std::mem::forget(self);
        }
    }
}

impl<T> Deref for Entered<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.monitor.data
    }
}

impl<T> Drop for Entered<'_, T> {
    fn drop(&mut self) {
        // SAFETY: this guard entered the monitor once and no longer lends the data.
        unsafe { self.monitor.exit() };
    }
}

impl<T: fmt::Debug> fmt::Debug for Entered<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
