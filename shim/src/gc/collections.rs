//! Delivers collections to agents.
//!
//! JVMPI's collections stop all threads, and all events of one are sent on one thread between GC_START and
//! GC_FINISH. JVMTI reports a real collection while the world is stopped, when no agent may be called, and dead
//! objects later, on a thread of the VM. So the real events only mark that a collection is due and queue the tags
//! of the dead. A thread of the shim, or the caller of RunGC, then delivers ("plays") the collection.

use super::deaths::{REPORTER, WAKE, due, make_sentinel, reports_later, take_signs};
use crate::records::pauses::{self, Pauses};
use crate::records::thread::Thread;
use crate::sync::bounded_wait::BoundedWait;
use crate::threads;
use jvm::lock::{Condition, Lock};
use jvm::platform::os_thread::os_thread;
use jvm::types::JVMTI_EVENT_OBJECT_FREE;
use jvm::{Jni, internals, vm_structs};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
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
    /// Waits for the right. None if this thread has it, or if the owner cannot continue before this thread.
    fn begin() -> Option<Self> {
        let me = os_thread();
        let mut waiting = BoundedWait::new();
        let mut stuck = None;
        loop {
            let mut player = PLAYER.lock();
            let other = *player;
            if other == 0 {
                *player = me;
                return Some(Self(()));
            }
            if other == me || stuck == Some(other) {
                return None;
            }
            drop(PLAYED.wait_for(player, waiting.pause()));
            // The owner may have finished since, and now wait for this thread.
            stuck = (!waiting.can_continue(other)).then_some(other);
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

/// The OS thread that delivers the collections that no agent has requested.
static THREAD: AtomicI32 = AtomicI32::new(0);

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
        THREAD.store(os_thread(), Ordering::Relaxed);
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

/// Wakes the delivering thread after agents have enabled collections again.
pub fn enabled_again() {
    if due().is_deferred {
        WAKE.notify_all();
    }
}

/// Waits for a deferred collection that can be delivered now. Otherwise agents that disable collections most of the
/// time would prevent its delivery.
pub fn let_deferred_go_first() {
    let mut waiting = BoundedWait::new();
    while due().can_play_deferred() && waiting.can_continue(THREAD.load(Ordering::Relaxed)) {
        waiting.sleep();
    }
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

/// The time limit for the reports until the VM's reporting thread is known. Dead objects that are reported later
/// are part of the next collection.
const FIRST_REPORTS: Duration = Duration::from_millis(200);

/// The time that RunGC waits although that thread is blocked. After the VM's call for RunGC, a concurrent collector
/// has finished its cycle, but its thread that wakes the reporting thread may still wait for a processor.
const UNTIL_WOKEN: Duration = Duration::from_secs(2);

/// Waits until the newest sentinel is known to be dead, as long as the VM's reporting thread is at work, and at
/// least for [`UNTIL_WOKEN`]. The sentinel survives a collection that began before its creation.
fn wait_for_reports() {
    let begun = Instant::now();
    let mut waiting = BoundedWait::new();
    while reports_later() {
        let due = due();
        if !due.sentinels.newest_is_alive() {
            return;
        }
        drop(WAKE.wait_for(due, waiting.pause()));
        let is_at_work = match REPORTER.load(Ordering::Relaxed) {
            0 => {
                waiting.ends_by_itself();
                begun.elapsed() < FIRST_REPORTS
            }
            reporter => waiting.can_continue(reporter),
        };
        if !is_at_work && begun.elapsed() >= UNTIL_WOKEN {
            return;
        }
    }
}

/// Implements RunGC: collects, and delivers the collection on the calling thread before it returns. If another
/// delivery cannot continue before the calling thread does, the new collection is delivered later.
pub fn run(jni: Jni, thread: &Thread, play: Play) -> jvm::Result<()> {
    let Some(playing) = Playing::begin() else {
        return jvm::get().jvmti.force_garbage_collection();
    };
    // The collections that were due before are delivered first.
    play_due(jni, thread, play, &playing);
    loop {
        // An older sentinel may have died in an earlier collection whose reports are late.
        let sentinel = make_sentinel(jni);
        {
            // A concurrent collector blocks this thread for long. Other threads should still wait for it.
            let mut collection = BoundedWait::new();
            collection.ends_by_itself();
            jvm::get().jvmti.force_garbage_collection()?;
        }
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

/// Runs `f` while no collection is being delivered, except one that cannot continue before the current thread does.
pub fn between<R>(f: impl FnOnce() -> R) -> R {
    let _playing = Playing::begin();
    f()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jvm::platform::scheduling::is_asleep;
    use std::hint;
    use std::sync::Barrier;
    use std::sync::atomic::AtomicU32;

    /// Two threads deliver in turns, and the one that has delivered waits for the other. The other must not
    /// conclude that it cannot continue, however late it checks.
    #[test]
    fn thread_that_has_delivered_does_not_block_the_next() {
        const ROUNDS: u32 = 200;
        let numbers = [const { AtomicI32::new(0) }; 2];
        let played = [const { AtomicU32::new(0) }; 2];
        let begun = Barrier::new(2);
        let take_turns = |me: usize| {
            let current = threads::adopt_for_test(0x6000 + me);
            numbers[me].store(os_thread(), Ordering::SeqCst);
            begun.wait();
            let other = numbers[1 - me].load(Ordering::SeqCst);
            let mut refused = 0;
            for round in 1..=ROUNDS {
                let is_behind = || played[1 - me].load(Ordering::SeqCst) < round;
                let playing = Playing::begin();
                refused += u32::from(playing.is_none());
                while is_behind() && !is_asleep(other) {
                    hint::spin_loop();
                }
                drop(playing);
                played[me].store(round, Ordering::SeqCst);
                let mut waiting = BoundedWait::new();
                waiting.set_target(other);
                while is_behind() {
                    hint::spin_loop();
                }
            }
            threads::ended(&current);
            refused
        };
        std::thread::scope(|scope| {
            let other = scope.spawn(|| take_turns(1));
            assert_eq!((take_turns(0), other.join().unwrap()), (0, 0));
        });
    }
}
