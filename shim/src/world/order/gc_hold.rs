//! Keeps the VM itself from collecting while agents have disabled that, for those with `disablegc=hold`.
//!
//! A thread of the shim's is inside a critical section of JNI's meanwhile: where a collector cannot leave a
//! single object in its place, it waits for the end of that. So do the threads that need memory. If those that
//! have disabled collections come to wait so (`gc_need`), they wait for themselves: the hold is given up until
//! one of them goes on.

use super::bounded_wait::BoundedWait;
use super::gc_need::{self, Disabler, Need};
use super::{gc_counts, gc_probe};
use crate::jvm::{Critical, GlobalRef, Jni};
use crate::lock::{Condition, Lock};
use crate::world::threads;
use crate::world::threads::os_thread::os_thread;
use log::Level;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::Duration;

struct Hold {
    /// The threads that have disabled collections.
    by: Vec<Disabler>,
    /// Those that have enabled them again, which are dropped by the thread that may be looking at them, where
    /// it may call JNI.
    gone: Vec<Disabler>,
    /// Whether collections are held back, and none is about to be let through.
    is_held: bool,
    /// Whether the VM ends.
    is_over: bool,
}

static HOLD: Lock<Hold> =
    Lock::new(Hold { by: Vec::new(), gone: Vec::new(), is_held: false, is_over: false });
static CHANGED: Condition = Condition::new();
static STARTED: AtomicBool = AtomicBool::new(false);
/// The OS thread that holds collections back, 0 if there is none.
static HOLDER: AtomicI32 = AtomicI32::new(0);

/// Starts the threads that this takes, once.
pub fn start(jni: Jni) {
    if STARTED.swap(true, Ordering::SeqCst) {
        return;
    }
    if gc_counts::collector_pins() {
        return log::warn!(
            "disablegc=hold has no effect with this collector: it works on while single objects are held in place"
        );
    }
    let Some(array) = threads::quietly(jni, || jni.frame(2, hidden_array)) else {
        return log::error!("disablegc=hold has no effect: no memory");
    };
    let array = Arc::new(array);
    let probes = Arc::clone(&array);
    let started = threads::start_hidden(jni, c"jvmpi", move |jni| gc_probe::run(jni, &probes))
        .and_then(|()| threads::start_hidden(jni, c"jvmpi", move |jni| run(jni, &array)));
    if let Err(error) = started {
        return log::error!("disablegc=hold has no effect: {error}");
    }
    // So that nobody disables collections before it is there.
    let mut hold = HOLD.lock();
    while HOLDER.load(Ordering::SeqCst) == 0 {
        hold = CHANGED.wait(hold);
    }
}

fn hidden_array(jni: Jni) -> Option<GlobalRef> {
    let array = jni.new_bytes(1)?;
    threads::hide(array).ok()?;
    GlobalRef::new(jni, array)
}

/// DisableGC: no collection begins from when this returns until [`end`], but for one without which nobody who
/// has disabled them can go on.
pub fn begin() {
    let me = os_thread();
    let is_known = || HOLD.lock().by.iter().any(|by| by.os_thread == me);
    let new = if is_known() { None } else { Some(Disabler::current()) };
    {
        let mut hold = HOLD.lock();
        hold.by.extend(new);
        // Its own last call may just have been taken back by another thread.
        match hold.by.iter_mut().find(|by| by.os_thread == me) {
            Some(by) => by.calls += 1,
            None => hold.by.push(Disabler { os_thread: me, calls: 1, runs: None }),
        }
    }
    CHANGED.notify_all();
    let mut waiting = BoundedWait::new();
    let mut is_stuck = false;
    loop {
        let hold = HOLD.lock();
        let holder = HOLDER.load(Ordering::SeqCst);
        if hold.is_held || hold.is_over || holder == 0 {
            return;
        }
        if is_stuck {
            break;
        }
        drop(CHANGED.wait_for(hold, waiting.pause()));
        is_stuck = !waiting.can_go_on(holder);
    }
    static TOLD: AtomicBool = AtomicBool::new(false);
    tell(&TOLD, "collections go on, as one is under way that cannot end before DisableGC does");
}

/// EnableGC, of any thread; one too many does nothing.
pub fn end() {
    let mut hold = HOLD.lock();
    let me = os_thread();
    let own = hold.by.iter().position(|by| by.os_thread == me);
    let Some(place) = own.or(hold.by.len().checked_sub(1)) else { return };
    hold.by[place].calls -= 1;
    let mut gone = (hold.by[place].calls == 0).then(|| hold.by.remove(place));
    if HOLDER.load(Ordering::SeqCst) != 0 {
        hold.gone.extend(gone.take());
    }
    if hold.by.is_empty() {
        hold.is_held = false;
    }
    drop(hold);
    CHANGED.notify_all();
}

/// Ends the threads: the VM, when it ends, waits for threads that it finds in native code.
pub fn stop() {
    {
        let mut hold = HOLD.lock();
        hold.is_over = true;
        hold.is_held = false;
    }
    CHANGED.notify_all();
    gc_probe::stop();
}

fn run(jni: Jni, array: &GlobalRef) {
    set_holder(os_thread());
    while wait_until_wanted() {
        // Waits for a collection that the VM wants already.
        let Some(critical) = Critical::begin(jni, array) else { break };
        let is_given_up = take_hold() && hold_back();
        // The VM may collect in this call.
        drop(critical);
        let gone = std::mem::take(&mut HOLD.lock().gone);
        drop(gone);
        if is_given_up {
            wait_until_one_goes_on();
        }
    }
    set_holder(0);
}

fn set_holder(os_thread: i32) {
    let hold = HOLD.lock();
    HOLDER.store(os_thread, Ordering::SeqCst);
    drop(hold);
    CHANGED.notify_all();
}

/// Waits until somebody has disabled collections; false if the VM ends.
fn wait_until_wanted() -> bool {
    let mut hold = HOLD.lock();
    while hold.by.is_empty() && !hold.is_over {
        hold = CHANGED.wait(hold);
    }
    !hold.is_over
}

/// The critical section has begun; false if nobody wants it any more.
fn take_hold() -> bool {
    {
        let mut hold = HOLD.lock();
        hold.is_held = !hold.by.is_empty() && !hold.is_over;
        if !hold.is_held {
            return false;
        }
    }
    CHANGED.notify_all();
    true
}

/// How often those that have disabled collections are looked at.
const PAUSE: Duration = Duration::from_millis(2);

/// Returns when collections are enabled, or when they have to be, which is true then. No JNI function may be
/// called here.
fn hold_back() -> bool {
    let mut need = Need::new();
    loop {
        let mut hold = HOLD.lock();
        if hold.is_held {
            hold = CHANGED.wait_for(hold, PAUSE).0;
        }
        if !hold.is_held {
            return false;
        }
        let by = hold.by.clone();
        drop(hold);
        if need.is_certain_of(&by) {
            let mut hold = HOLD.lock();
            if hold.is_held && hold.by == by {
                hold.is_held = false;
                drop(hold);
                static TOLD: AtomicBool = AtomicBool::new(false);
                tell(
                    &TOLD,
                    "the JVM collects, as who has disabled that waits for memory or has ended",
                );
                return true;
            }
        }
    }
}

/// Says so, the first time.
fn tell(told: &AtomicBool, what: &str) {
    let level = if told.swap(true, Ordering::Relaxed) { Level::Debug } else { Level::Warn };
    log::log!(level, "disablegc=hold: {what}");
}

/// Waits until one of those that have disabled collections goes on, or nobody wants the hold any more.
fn wait_until_one_goes_on() {
    let mut waiting = BoundedWait::new();
    loop {
        let mut hold = HOLD.lock();
        if !hold.by.is_empty() && !hold.is_over {
            hold = CHANGED.wait_for(hold, waiting.pause()).0;
        }
        if hold.by.is_empty() || hold.is_over {
            return;
        }
        let by = hold.by.clone();
        drop(hold);
        if !gc_need::is_blocked(&by) {
            return;
        }
    }
}
