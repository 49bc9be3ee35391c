//! The waits of each thread at Java monitors, as far as the VM reports them, and the monitors that it has entered by
//! JNI.

use jni_sys::jobject;
use jvm::lock::Lock;
use jvm::platform::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use jvm::{GlobalRef, Jni};
use std::mem;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// Counts how often the VM's reports of one kind were switched off. The end of a wait that began
/// before is not reported.
pub struct Era(AtomicU32);

/// Reports of threads that wait to enter a monitor.
pub static ENTRIES: Era = Era(AtomicU32::new(0));
/// Reports of threads that wait to be notified.
pub static WAITS: Era = Era(AtomicU32::new(0));

impl Era {
    pub fn end(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns true if another era has begun since the last call, which `seen` records.
    fn has_ended_since(&self, seen: &AtomicU32) -> bool {
        let now = self.0.load(Ordering::SeqCst);
        seen.swap(now, Ordering::Relaxed) != now
    }
}

/// True if the native of `Object.wait` is replaced. So the shim sees threads return from it, when they own the monitor
/// again.
pub static RETURNS_ARE_SEEN: AtomicBool = AtomicBool::new(false);

/// The waits of one thread. Only the thread itself uses this.
#[derive(Default)]
pub struct Waits {
    entries: AtomicU32,
    /// The number of monitors that the thread waits to enter: above 1 if a handler waits too.
    entering: AtomicU32,
    waits: AtomicU32,
    /// The time at which it began to wait in `Object.wait`; 0 if it does not wait.
    since: AtomicU64,
    /// True while it calls `Object.wait`, whose native is replaced.
    called: AtomicBool,
    /// True if it was notified and is entering the monitor again.
    enters_again: AtomicBool,
}

impl Waits {
    fn entering(&self) -> u32 {
        if ENTRIES.has_ended_since(&self.entries) {
            0
        } else {
            self.entering.load(Ordering::Relaxed)
        }
    }

    /// Records that the thread is about to wait to enter a monitor.
    pub fn enter(&self) {
        self.entering.store(self.entering() + 1, Ordering::Relaxed);
    }

    /// Records that the thread owns a monitor now. Returns false if no wait of it was recorded.
    pub fn entered(&self) -> bool {
        let entering = self.entering();
        self.entering.store(entering.saturating_sub(1), Ordering::Relaxed);
        entering > 0
    }

    /// Records that the thread begins to wait to be notified, or to sleep.
    pub fn begin(&self) {
        WAITS.has_ended_since(&self.waits);
        self.since.store(now(), Ordering::Relaxed);
    }

    /// Records whether the thread calls `Object.wait`. Returns what was recorded before: a handler that is called in a
    /// wait may wait too.
    pub fn set_called(&self, called: bool) -> bool {
        self.called.swap(called, Ordering::Relaxed)
    }

    /// Returns true if the thread calls `Object.wait`. The VM also waits for itself, for a class that another thread
    /// initializes, and reports only the end of that.
    pub fn returns_are_seen(&self) -> bool {
        self.called.load(Ordering::Relaxed)
    }

    /// Records that the thread was notified and is about to enter the monitor again.
    pub fn enter_again(&self) {
        self.enters_again.store(true, Ordering::Relaxed);
    }

    /// Returns true from [`Self::enter_again`] to [`Self::has_entered_again`].
    pub fn enters_again(&self) -> bool {
        self.enters_again.load(Ordering::Relaxed)
    }

    /// Returns true once if the thread has entered the monitor again since [`Self::enter_again`].
    pub fn has_entered_again(&self) -> bool {
        self.enters_again() && self.enters_again.swap(false, Ordering::Relaxed)
    }

    /// Returns how long the thread has waited. None if the beginning is unknown.
    pub fn end(&self) -> Option<Duration> {
        let since = self.since.swap(0, Ordering::Relaxed);
        let is_known = !WAITS.has_ended_since(&self.waits) && since > 0;
        is_known.then(|| Duration::from_nanos(now().saturating_sub(since)))
    }
}

/// Nanoseconds since a moment in the past.
fn now() -> u64 {
    static BASE: LazyLock<Instant> = LazyLock::new(Instant::now);
    1 + BASE.elapsed().as_nanos() as u64
}

/// The monitors that a thread has entered by JNI, each as often as it was entered. The VM's count of a thread's entries
/// does not include them, because it counts frames of methods. Only the thread itself uses them.
#[derive(Default)]
pub struct JniMonitors(Lock<Vec<GlobalRef>>);

impl JniMonitors {
    /// Records that the thread has entered the object's monitor.
    pub fn entered(&self, jni: Jni, object: jobject) {
        if let Some(object) = GlobalRef::new(jni, object) {
            self.0.lock().push(object);
        }
    }

    /// Records that the thread has exited the object's monitor. The entry may not have been recorded.
    pub fn left(&self, jni: Jni, object: jobject) {
        // The lock is released before the VM is called.
        let mut entered = mem::take(&mut *self.0.lock());
        if let Some(last) = entered.iter().rposition(|one| jni.same_object(one.get(), object)) {
            entered.remove(last);
        }
        *self.0.lock() = entered;
    }

    /// Returns the number of times that the thread has entered the object's monitor.
    pub fn count(&self, jni: Jni, object: jobject) -> usize {
        let entered = mem::take(&mut *self.0.lock());
        let count = entered.iter().filter(|one| jni.same_object(one.get(), object)).count();
        *self.0.lock() = entered;
        count
    }

    /// Returns true if the thread is in no monitor that it has entered by JNI.
    pub fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_belongs_to_a_beginning() {
        let waits = Waits::default();
        assert!(waits.end().is_none());
        waits.begin();
        assert!(waits.end().is_some() && waits.end().is_none());
        waits.begin();
        WAITS.end();
        assert!(waits.end().is_none());
    }
}
