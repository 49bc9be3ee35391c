//! Raw monitors.

use crate::context::mode::MayLock;
use crate::{Context, Jvmpi, MultiThreaded, RawMonitorId, Stopped};
use std::ffi::CStr;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A raw monitor of the VM, and the data that it guards: a mutex with a condition, which the thread that
/// is in it may enter again. Therefore the data is only lent as `&T`; take a `RefCell` to change it.
///
/// No RAW_MONITOR event tells of a monitor whose name begins with `_`.
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
/// # In a collection
///
/// From GC_START to GC_FINISH no lock may be taken. What the handler of OBJECT_FREE or OBJECT_MOVE needs
/// is locked in that of GC_START, with [`keep`](Entered::keep), and unlocked in that of GC_FINISH; the
/// specification promises that all run on one thread:
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
    /// The [`current_thread`] that has left it entered by [`Entered::keep`]; 0 for none.
    kept_by: AtomicUsize,
    data: T,
}

// SAFETY: the data is lent only to the thread that is in the monitor, one at a time.
unsafe impl<T: Send> Sync for RawMonitor<T> {}

/// What no other thread has that lives now.
fn current_thread() -> usize {
    thread_local!(static PLACE: u8 = const { 0 });
    PLACE.with(|place| (&raw const *place).addr())
}

impl<T> RawMonitor<T> {
    /// RawMonitorCreate.
    ///
    /// # Panics
    /// If the VM has no memory for it.
    pub fn new(jvmpi: &Context<'_, impl MayLock>, name: &CStr, data: T) -> Self {
        // SAFETY: may be called in these modes; the name is copied and not changed.
        let id = unsafe { (jvmpi.table().RawMonitorCreate)(name.as_ptr().cast_mut()) };
        let id = RawMonitorId::of(id).expect("no memory for a raw monitor");
        Self { jvmpi: jvmpi.jvmpi(), id, kept_by: AtomicUsize::new(0), data }
    }

    /// What events and dumps call it.
    pub fn id(&self) -> RawMonitorId {
        self.id
    }

    /// RawMonitorEnter: waits until no other thread is in the monitor.
    pub fn enter(&self, _: &Context<'_, impl MayLock>) -> Entered<'_, T> {
        // SAFETY: may be called in these modes; the monitor lives as long as `self`.
        unsafe { (self.jvmpi.table().RawMonitorEnter)(self.id.as_ptr()) };
        Entered { monitor: self, on_thread: PhantomData }
    }

    /// The data, if the current thread has entered the monitor in GC_START and has
    /// [kept](Entered::keep) it.
    pub fn kept<'a>(&'a self, _: &'a Stopped<'_>) -> Option<&'a T> {
        self.is_kept().then_some(&self.data)
    }

    /// Leaves the monitor that the current thread has [kept](Entered::keep); false if it has not.
    pub fn exit_kept(&self, _: &mut MultiThreaded<'_>) -> bool {
        let kept = self.is_kept();
        if kept {
            self.kept_by.store(0, Ordering::Relaxed);
            // SAFETY: `keep` has left it entered once.
            unsafe { self.exit() };
        }
        kept
    }

    /// Only the thread itself writes and removes its own mark.
    fn is_kept(&self) -> bool {
        self.kept_by.load(Ordering::Relaxed) == current_thread()
    }

    /// # Safety
    /// The current thread is in it, and does not use the data once it has left it as often as it has
    /// entered it.
    unsafe fn exit(&self) {
        // SAFETY: the monitor lives as long as `self`.
        unsafe { (self.jvmpi.table().RawMonitorExit)(self.id.as_ptr()) };
    }
}

impl<T> Drop for RawMonitor<T> {
    fn drop(&mut self) {
        // SAFETY: nobody is in it, as all who are borrow it.
        unsafe { (self.jvmpi.table().RawMonitorDestroy)(self.id.as_ptr()) };
    }
}

impl<T> fmt::Debug for RawMonitor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.id.fmt(f)
    }
}

/// Has entered a raw monitor, and leaves it when it is dropped.
#[must_use = "the monitor is left when this is dropped"]
pub struct Entered<'m, T> {
    monitor: &'m RawMonitor<T>,
    /// Not `Send`: the thread that has entered is the one to leave.
    on_thread: PhantomData<*mut T>,
}

impl<T> Entered<'_, T> {
    /// RawMonitorWait: leaves the monitor, however often it was entered, until it is notified or the time
    /// is over, and enters it as often again. It may return for no reason.
    pub fn wait(&mut self, jvmpi: &Context<'_, impl MayLock>, at_most: Option<Duration>) {
        // 0 stands for ever.
        let ms = at_most.map_or(0, |d| i64::try_from(d.as_millis()).unwrap_or(i64::MAX).max(1));
        // SAFETY: may be called in these modes; the thread is in the monitor.
        unsafe { (jvmpi.table().RawMonitorWait)(self.monitor.id.as_ptr(), ms) };
    }

    /// RawMonitorNotifyAll: ends the waits of all threads.
    pub fn notify_all(&self, jvmpi: &Context<'_, impl MayLock>) {
        // SAFETY: may be called in these modes; the thread is in the monitor.
        unsafe { (jvmpi.table().RawMonitorNotifyAll)(self.monitor.id.as_ptr()) };
    }

    /// Stays in the monitor, until [`RawMonitor::exit_kept`]: from GC_START to GC_FINISH.
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
        // SAFETY: this has entered it once, and lends the data no longer.
        unsafe { self.monitor.exit() };
    }
}

impl<T: fmt::Debug> fmt::Debug for Entered<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
