//! The virtual collection.
//!
//! JVMPI's collections stop all threads, and everything that happens in one is told on one thread
//! between GC_START and GC_FINISH. JVMTI tells of a real collection while the world is stopped,
//! where no agent may be called, and of dead objects later, on a thread of the VM's. So the real
//! events only mark that a collection is due and queue the tags of the dead; a thread of the
//! shim, or the caller of RunGC, then plays the collection to the agents.

use super::gc_counts;
use super::threads::{self, Thread};
use crate::jvm::{self, Jni};
use jvmti_sys::JVMTI_EVENT_OBJECT_FREE;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

/// What happened in the real VM and was not told yet. Whoever holds the lock never calls the VM:
/// the events come while the world is stopped.
#[derive(Default)]
struct Due {
    /// Pauses of collectors that ended.
    pauses: u64,
    /// Tags of dead objects.
    dead: Vec<i64>,
}

static DUE: Mutex<Due> = Mutex::new(Due { pauses: 0, dead: Vec::new() });
static WAKE: Condvar = Condvar::new();

fn due() -> MutexGuard<'static, Due> {
    DUE.lock().unwrap_or_else(|e| e.into_inner())
}

/// Takes note that a collector's pause has ended; called while the world is stopped.
pub fn pause_ended() {
    due().pauses += 1;
    WAKE.notify_one();
}

/// Takes note that a tagged object was found dead.
pub fn object_died(tag: i64) {
    due().dead.push(tag);
}

/// Plays a collection: the agents' side of it, which `translate` knows.
///
/// The arguments are the thread that plays it and the tags of the dead.
pub type Play = fn(Jni, &Thread, &[i64]);

/// Held by the thread that plays a collection.
static PLAYING: Mutex<()> = Mutex::new(());
static STARTED: AtomicBool = AtomicBool::new(false);

/// Starts the thread that plays collections, once.
pub fn start(jni: Jni, play: Play) {
    if STARTED.swap(true, Ordering::SeqCst) {
        return;
    }
    gc_counts::start(jni);
    let run = move |jni| {
        let thread = threads::current(jni);
        loop {
            wait_for_pause();
            let _playing = PLAYING.lock().unwrap_or_else(|e| e.into_inner());
            play_due(jni, &thread, play);
        }
    };
    if let Err(error) = threads::start_hidden(jni, c"jvmpi", run) {
        log::error!("collections cannot be reported: {error}");
    }
}

fn wait_for_pause() {
    let due = due();
    drop(WAKE.wait_while(due, |due| due.pauses == 0));
}

/// Plays one collection for each that is due; the dead go with the first.
fn play_due(jni: Jni, thread: &Thread, play: Play) {
    let pauses = std::mem::take(&mut due().pauses);
    let collections = gc_counts::collections_since_last_time(jni, pauses);
    if collections == 0 {
        return;
    }
    for _ in 0..collections {
        let dead = take_dead();
        play(jni, thread, &dead);
    }
}

/// The tags of all objects that the VM knows to be dead: it hands out what it keeps for later
/// when the event is switched off.
fn take_dead() -> Vec<i64> {
    let jvmti = jvm::get().jvmti;
    for on in [false, true] {
        if let Err(error) = jvmti.set_notification(JVMTI_EVENT_OBJECT_FREE, on) {
            log::debug!("dead objects come late: {error}");
        }
    }
    std::mem::take(&mut due().dead)
}

/// Puts back the dead that could not be told; they ride in the next collection.
pub fn keep_for_later(tags: &[i64]) {
    due().dead.extend_from_slice(tags);
}

/// How long RunGC waits for a collection that is just being played. That one may wait for a lock
/// which the caller of RunGC holds.
const PATIENCE: Duration = Duration::from_millis(100);

/// RunGC: collects, and plays the collection on the calling thread before it returns.
pub fn run(jni: Jni, thread: &Thread, play: Play) -> jvm::Result<()> {
    let _playing = try_lock_for(&PLAYING, PATIENCE);
    // What was due before is told before.
    play_due(jni, thread, play);
    jvm::get().jvmti.force_garbage_collection()?;
    let pauses = std::mem::take(&mut due().pauses);
    gc_counts::collections_since_last_time(jni, pauses);
    let dead = take_dead();
    play(jni, thread, &dead);
    Ok(())
}

/// The lock, or None if it could not be had in that time.
fn try_lock_for<T>(mutex: &Mutex<T>, at_most: Duration) -> Option<MutexGuard<'_, T>> {
    let begun = Instant::now();
    loop {
        match mutex.try_lock() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) if begun.elapsed() > at_most => return None,
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_micros(200)),
        }
    }
}
