//! Delivers collections to agents.
//!
//! JVMPI's collections stop all threads, and all events of one are sent on one thread between GC_START and
//! GC_FINISH. JVMTI reports a real collection while the world is stopped, when no agent may be called, and dead
//! objects later, on a thread of the VM. So the real events only mark that a collection is due and queue the tags
//! of the dead. A thread of the shim, or the caller of RunGC, then delivers ("plays") the collection.

use super::deaths::{WAKE, due, make_sentinel, reports_later, take_signs};
use crate::records::pauses::{self, Pauses};
use crate::records::thread::Thread;
use crate::sync::bounded_wait::BoundedWait;
use crate::threads;
use jvm::lock::{Condition, Lock};
use jvm::platform::os_thread::os_thread;
use jvm::types::JVMTI_EVENT_OBJECT_FREE;
use jvm::{Jni, internals, vm_structs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Sends agents the events of a collection. Returns false if garbage collection is disabled, so that nothing was
/// sent.
///
/// The arguments are the delivering thread, the tags of the dead objects, and the pauses for which the collection
/// stands.
pub type Play = fn(Jni, &Thread, &[i64], Pauses) -> bool;

/// The OS thread that is delivering collections, 0 for none. The lock is not held meanwhile.
static PLAYER: Lock<i32> = Lock::new(0);
/// Signalled when no thread delivers any more.
static PLAYED: Condition = Condition::new();

/// The right to deliver collections, which one thread has at a time.
struct Playing(());

impl Playing {
    /// Waits for the right. None if this thread has it, or if a handler of the owner's collection does not return.
    fn begin() -> Option<Self> {
        let me = os_thread();
        let mut waiting = BoundedWait::new();
        loop {
            let mut player = PLAYER.lock();
            let other = *player;
            if other == 0 {
                *player = me;
                return Some(Self(()));
            }
            if other == me {
                return None;
            }
            drop(PLAYED.wait_for(player, waiting.pause()));
            if !waiting.goes_on_in_handlers() {
                return None;
            }
        }
    }
}

impl Drop for Playing {
    fn drop(&mut self) {
        *PLAYER.lock() = 0;
        PLAYED.notify_all();
    }
}

static STARTED: AtomicBool = AtomicBool::new(false);

/// Starts the thread that delivers collections, once.
pub fn start(jni: Jni, play: Play) {
    if STARTED.swap(true, Ordering::SeqCst) {
        return;
    }
    if moves_only_in_pauses() {
        pauses::moves_only_in_pauses();
    }
    if let Err(error) = jvm::get().class_env.set_notification(JVMTI_EVENT_OBJECT_FREE, true) {
        log::debug!("OBJECT_FREE may come late: {error}");
    }
    make_sentinel(jni);
    let run = move |jni| {
        let thread = threads::current(jni);
        while wait_for_signs() {
            if let Some(playing) = Playing::begin() {
                play_due(jni, &thread, play, &playing);
            }
        }
    };
    if let Err(error) = threads::start_hidden(jni, c"jvmpi", run) {
        log::error!("collections cannot be reported: {error}");
    }
}

/// Returns true if the collector is known to move and free objects only in pauses, and JVMTI to report all of them.
/// Before 25, Serial and Parallel do not report that they collect for a histogram or a heap dump of the VM.
pub fn moves_only_in_pauses() -> bool {
    let flags = [c"UseG1GC", c"UseSerialGC", c"UseParallelGC"];
    let known = if jvm::get().feature_version() >= 25 { &flags[..] } else { &flags[..1] };
    internals::COLLECTOR.find(|| vm_structs::is_any_set(known)) == Some(true)
}

/// Waits for a sign that there was a collection. Returns false if no more collections will be delivered.
fn wait_for_signs() -> bool {
    let mut due = due();
    while !due.is_over && !due.has_sign() {
        due = WAKE.wait(due);
    }
    !due.is_over
}

/// Ends the thread that delivers collections. Otherwise the ending VM would wait 300 ms for it, because it is in
/// native code.
pub fn end() {
    due().is_over = true;
    WAKE.notify_all();
}

/// Delivers the collections that are due as one.
fn play_due(jni: Jni, thread: &Thread, play: Play, playing: &Playing) {
    let is_due = take_signs();
    make_sentinel(jni);
    if is_due {
        play_one(jni, thread, play, playing);
    }
}

/// Delivers a collection, with all dead objects whose reports are complete. If collections are disabled, it is deferred.
fn play_one(jni: Jni, thread: &Thread, play: Play, _: &Playing) {
    let (dead, pauses) = {
        let mut due = due();
        (std::mem::take(&mut due.complete), due.time.take())
    };
    let is_played = play(jni, thread, &dead, pauses);
    let mut due = due();
    due.is_deferred = !is_played;
    if !is_played {
        due.time.give_back(pauses);
        due.complete.extend(dead);
    }
}

/// The time without a report after which RunGC does not wait for more: those that come later belong to the next collection.
const LAST_REPORT: Duration = Duration::from_secs(2);

/// Waits until the newest sentinel is known to be dead, or until no more deaths are reported. The sentinel survives a
/// collection that began before its creation, and one found by another tool's walk is never reported.
fn wait_for_reports() {
    let (mut reports, mut since, mut waiting) = (0, Instant::now(), BoundedWait::new());
    while reports_later() {
        let due = due();
        let now = due.reports();
        if now != reports {
            (reports, since) = (now, Instant::now());
        }
        if !due.sentinels.newest_is_alive() || since.elapsed() >= LAST_REPORT {
            return;
        }
        drop(WAKE.wait_for(due, waiting.pause()));
    }
}

/// Implements RunGC: collects, and delivers the collection on the calling thread before it returns. If a
/// handler of another delivery does not return, the new collection is delivered later.
pub fn run(jni: Jni, thread: &Thread, play: Play) -> jvm::Result<()> {
    let Some(playing) = Playing::begin() else {
        return jvm::get().jvmti.force_garbage_collection();
    };
    // The collections that were due before are delivered first.
    play_due(jni, thread, play, &playing);
    loop {
        // An older sentinel may have died in an earlier collection whose reports are late.
        let sentinel = make_sentinel(jni);
        jvm::get().jvmti.force_garbage_collection()?;
        wait_for_reports();
        // If a walk has found the sentinel, the reports are complete only after one more collection.
        if sentinel.is_none_or(|sentinel| due().sentinels.found < sentinel) {
            break;
        }
    }
    take_signs();
    play_one(jni, thread, play, &playing);
    Ok(())
}

/// Runs `f` while no collection is being delivered, except one with a handler that does not return.
pub fn between<R>(f: impl FnOnce() -> R) -> R {
    let _playing = Playing::begin();
    f()
}
