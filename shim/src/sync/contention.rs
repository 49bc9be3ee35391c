//! The threads that wait to enter Java monitors, as the VM reports them, and the flag that makes
//! rewritten code check for them.

use super::vm_locks;
use crate::records::tracker;
use crate::records::waits::{ENTRIES, Waits};
use jvm::Jni;
use jvm::lock::Map;
use jvmpi_sys::jobjectID;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The number of threads that wait to enter each monitor, by the ID of its object.
static WAITING: LazyLock<Map<usize, usize>> = LazyLock::new(Map::new);
/// The sum of these numbers.
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// True while rewritten code reads the Tracker's flag.
static IS_USED: AtomicBool = AtomicBool::new(false);
/// The last value written to the Tracker's flag.
static FLAG: AtomicBool = AtomicBool::new(false);

/// Makes rewritten code check, or not check any more, whether a thread waits for a monitor that it
/// exits.
pub fn tell_rewritten_code(jni: Jni, on: bool) {
    IS_USED.store(on, Ordering::SeqCst);
    settle(jni);
}

/// Returns true if a thread waits to enter any monitor.
pub fn is_any_awaited() -> bool {
    COUNT.load(Ordering::SeqCst) > 0
}

/// Returns true if a thread waits to enter the monitor of the object with this ID.
pub fn is_awaited(id: jobjectID) -> bool {
    is_any_awaited() && WAITING.contains(id.addr())
}

/// Moves the count of an object to its new ID.
pub fn rename(from: jobjectID, to: jobjectID) {
    if is_any_awaited()
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

/// Records that the thread is about to wait to enter the monitor of the object with this ID.
pub fn enter(jni: Jni, thread: &Waits, id: jobjectID) {
    thread.enter();
    add(id);
    settle(jni);
}

/// Records that the thread owns the monitor now. Returns false if no wait of it was recorded.
pub fn entered(jni: Jni, thread: &Waits, id: jobjectID) -> bool {
    let has_waited = thread.entered();
    if has_waited {
        remove(id);
        settle(jni);
    }
    has_waited
}

/// Sets the Tracker's flag if any thread waits, and clears it otherwise.
///
/// Threads that change the count at the same time may both come here. Only one thread at a time sets
/// the flag, because that is a call of the VM. It stores the new value in [`FLAG`] and then reads the
/// count again.
fn settle(jni: Jni) {
    let wanted = || IS_USED.load(Ordering::SeqCst) && COUNT.load(Ordering::SeqCst) > 0;
    if FLAG.load(Ordering::SeqCst) == wanted() {
        return;
    }
    let _alone = vm_locks::for_tags();
    if FLAG.load(Ordering::SeqCst) {
        FLAG.store(false, Ordering::SeqCst);
        if wanted() {
            FLAG.store(true, Ordering::SeqCst);
        } else {
            tracker::set_contended(jni, false);
        }
    } else if wanted() {
        tracker::set_contended(jni, true);
        FLAG.store(true, Ordering::SeqCst);
    }
}

/// Discards the counts, because the VM no longer reports waiting threads.
pub fn forget_waiting(jni: Jni) {
    ENTRIES.end();
    for waiting in WAITING.take_all() {
        COUNT.fetch_sub(waiting, Ordering::SeqCst);
    }
    settle(jni);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr;

    fn id(number: usize) -> jobjectID {
        ptr::without_provenance_mut(number)
    }

    #[test]
    fn waiting_threads_are_counted_by_object() {
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
}
