//! Java monitors: who waits there, as far as it is being reported.

use super::order::claims;
use crate::instrument::tracker;
use crate::jvm::Jni;
use crate::lock::Map;
use jvmpi_sys::jobjectID;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How many threads wait to enter each monitor, by the ID of its object.
static WAITING: LazyLock<Map<usize, usize>> = LazyLock::new(Map::new);
/// The sum of them.
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// Whether rewritten code is to know that threads wait.
static TELLS: AtomicBool = AtomicBool::new(false);
/// What rewritten code has been told.
static TOLD: AtomicBool = AtomicBool::new(false);

/// Makes rewritten code look, or look no longer, whether somebody waits when it leaves a monitor.
pub fn tell_rewritten_code(jni: Jni, on: bool) {
    TELLS.store(on, Ordering::SeqCst);
    settle(jni);
}

/// Whether a thread waits to enter the monitor of the object with this ID.
pub fn is_awaited(id: jobjectID) -> bool {
    COUNT.load(Ordering::SeqCst) > 0 && WAITING.contains(id.addr())
}

/// The object has got another ID.
pub fn rename(from: jobjectID, to: jobjectID) {
    if COUNT.load(Ordering::SeqCst) > 0
        && let Some(waiting) = WAITING.remove(from.addr())
    {
        WAITING.insert(to.addr(), waiting);
    }
}

fn add(id: jobjectID) {
    WAITING.change_or_insert(id.addr(), usize::default, |waiting| *waiting += 1);
    COUNT.fetch_add(1, Ordering::SeqCst);
}

fn remove(id: jobjectID) {
    if WAITING.change(id.addr(), |waiting| *waiting -= 1).is_some() {
        COUNT.fetch_sub(1, Ordering::SeqCst);
        WAITING.remove_if(id.addr(), |waiting| *waiting == 0);
    }
}

/// Brings the flag that rewritten code reads in line with whether anyone waits.
///
/// Threads that change the count at the same time may both come here: the flag is set through the
/// VM, so only one thread at a time may do it, and looks at the count again after it has said
/// what it is about to set.
fn settle(jni: Jni) {
    let wanted = || TELLS.load(Ordering::SeqCst) && COUNT.load(Ordering::SeqCst) > 0;
    if TOLD.load(Ordering::SeqCst) == wanted() {
        return;
    }
    let _alone = claims::to_tag();
    if TOLD.load(Ordering::SeqCst) {
        TOLD.store(false, Ordering::SeqCst);
        if wanted() {
            TOLD.store(true, Ordering::SeqCst);
        } else {
            tracker::set_contended(jni, false);
        }
    } else if wanted() {
        tracker::set_contended(jni, true);
        TOLD.store(true, Ordering::SeqCst);
    }
}

/// Counts how often a kind of report has stopped. What has begun before then has no end.
pub struct Era(AtomicU32);

/// Reports of threads that wait to enter.
pub static ENTRIES: Era = Era(AtomicU32::new(0));
/// Reports of threads that wait to be notified.
pub static WAITS: Era = Era(AtomicU32::new(0));

impl Era {
    /// The VM reports no longer.
    pub fn end(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    /// Whether another era has begun since `seen` was set here.
    fn has_ended_since(&self, seen: &AtomicU32) -> bool {
        let now = self.0.load(Ordering::SeqCst);
        seen.swap(now, Ordering::Relaxed) != now
    }
}

/// Nobody is known to wait to enter any more: the VM reports it no longer.
pub fn forget_waiting(jni: Jni) {
    ENTRIES.end();
    for waiting in WAITING.take_all() {
        COUNT.fetch_sub(waiting, Ordering::SeqCst);
    }
    settle(jni);
}

/// What a thread waits for. Only the thread itself uses this.
#[derive(Default)]
pub struct Waits {
    entries: AtomicU32,
    /// How many monitors the thread waits to enter: more than one if a handler waits as well.
    entering: AtomicU32,
    waits: AtomicU32,
    /// When it began to wait in `Object.wait`, 0 if it does not.
    since: AtomicU64,
}

impl Waits {
    fn entering(&self) -> u32 {
        if ENTRIES.has_ended_since(&self.entries) {
            0
        } else {
            self.entering.load(Ordering::Relaxed)
        }
    }

    /// The thread is about to wait to enter a monitor.
    pub fn enter(&self, jni: Jni, id: jobjectID) {
        self.entering.store(self.entering() + 1, Ordering::Relaxed);
        add(id);
        settle(jni);
    }

    /// The thread has got a monitor; false if it is not known to have waited.
    pub fn entered(&self, jni: Jni, id: jobjectID) -> bool {
        let entering = self.entering();
        self.entering.store(entering.saturating_sub(1), Ordering::Relaxed);
        if entering > 0 {
            remove(id);
            settle(jni);
        }
        entering > 0
    }

    /// The thread begins to wait to be notified, or to sleep.
    pub fn begin(&self) {
        WAITS.has_ended_since(&self.waits);
        self.since.store(now(), Ordering::Relaxed);
    }

    /// How long the thread has waited; None if the beginning is not known.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr;

    fn id(number: usize) -> jobjectID {
        ptr::without_provenance_mut(number)
    }

    #[test]
    fn who_waits_is_counted_by_object() {
        add(id(16));
        add(id(16));
        add(id(32));
        assert!(is_awaited(id(16)) && is_awaited(id(32)) && !is_awaited(id(48)));
        rename(id(16), id(48));
        remove(id(48));
        assert!(!is_awaited(id(16)) && is_awaited(id(48)));
        remove(id(48));
        remove(id(48));
        remove(id(32));
        assert!(!is_awaited(id(48)) && !is_awaited(id(32)));
        assert_eq!(COUNT.load(Ordering::SeqCst), 0);
    }

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
