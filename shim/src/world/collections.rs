//! The virtual collection.
//!
//! JVMPI's collections stop all threads, and everything that happens in one is told on one thread
//! between GC_START and GC_FINISH. JVMTI tells of a real collection while the world is stopped,
//! where no agent may be called, and of dead objects later, on a thread of the VM's. So the real
//! events only mark that a collection is due and queue the tags of the dead; a thread of the
//! shim, or the caller of RunGC, then plays the collection to the agents.

use super::threads::{self, Thread};
use super::{gate, gc_counts};
use crate::jvm::{self, Jni};
use jvmti_sys::JVMTI_EVENT_OBJECT_FREE;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, TryLockError};
use std::time::Duration;

/// What is known of the object that nobody holds (see [`make_sentinel`]).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sentinel {
    /// There is none.
    None,
    /// The one with this tag.
    Lives(i64),
    /// It was found dead, and so was everything else that the same collection found.
    Died,
}

impl Sentinel {
    fn lives(self) -> bool {
        matches!(self, Self::Lives(_))
    }
}

/// What happened in the real VM and was not told yet. Whoever holds the lock never calls the VM:
/// the events come while the world is stopped.
struct Due {
    /// Pauses of collectors that ended.
    pauses: u64,
    /// Tags of dead objects, some of a collection whose reports are still coming.
    dead: Vec<i64>,
    /// Tags of dead objects of collections that have been reported completely. A class is among
    /// them only with all its instances.
    complete: Vec<i64>,
    sentinel: Sentinel,
    /// Whether the VM ends.
    is_over: bool,
}

impl Due {
    /// What was reported until now is all that a collection has found.
    fn complete_reports(&mut self) {
        self.complete.append(&mut self.dead);
    }
}

static DUE: Mutex<Due> = Mutex::new(Due {
    pauses: 0,
    dead: Vec::new(),
    complete: Vec::new(),
    sentinel: Sentinel::None,
    is_over: false,
});
static WAKE: Condvar = Condvar::new();

fn due() -> MutexGuard<'static, Due> {
    DUE.lock().unwrap_or_else(|e| e.into_inner())
}

/// Takes note that a collector's pause has ended; called while the world is stopped.
pub fn pause_ended() {
    let mut due = due();
    due.pauses += 1;
    if jvm::get().feature_version() < REPORTS_LATER_SINCE {
        due.complete_reports();
    }
    WAKE.notify_all();
}

/// The first JDK that reports the dead after the pause in which it has found them.
const REPORTS_LATER_SINCE: u32 = 16;

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
    gc_counts::start();
    if let Err(error) = jvm::get().class_env.set_notification(JVMTI_EVENT_OBJECT_FREE, true) {
        log::debug!("dead objects may come late: {error}");
    }
    make_sentinel(jni);
    let run = move |jni| {
        let thread = threads::current(jni);
        while wait_for_signs() {
            let _playing = PLAYING.lock().unwrap_or_else(|e| e.into_inner());
            play_due(jni, &thread, play);
        }
    };
    if let Err(error) = threads::start_hidden(jni, c"jvmpi", run) {
        log::error!("collections cannot be reported: {error}");
    }
}

/// Waits for a sign that there was a collection; false if none will be played any more.
fn wait_for_signs() -> bool {
    let none = |due: &mut Due| !due.is_over && due.pauses == 0 && due.sentinel != Sentinel::Died;
    let due = WAKE.wait_while(due(), none).unwrap_or_else(|e| e.into_inner());
    !due.is_over
}

/// Ends the thread that plays collections. The VM, when it ends, waits for threads that it finds in
/// native code, for 300 ms.
pub fn end() {
    due().is_over = true;
    WAKE.notify_all();
}

/// Plays one collection for each that is due; the dead go with the first.
fn play_due(jni: Jni, thread: &Thread, play: Play) {
    let (pauses, sentinel) = take_signs();
    let collections = gc_counts::collections_since_last_time(pauses, sentinel == Sentinel::Died);
    if collections == 0 && !sentinel.lives() {
        make_sentinel(jni);
    }
    for number in 0..collections {
        let patience = if number == 0 { REPORTS } else { Duration::ZERO };
        let dead = take_dead(jni, patience);
        play(jni, thread, &dead);
    }
}

fn take_signs() -> (u64, Sentinel) {
    let mut due = due();
    (std::mem::take(&mut due.pauses), due.sentinel)
}

// From JDK 17 on a thread of the VM's reports the dead of one environment after the other, in the
// order in which the environments were made, some time after the collection. (Switching the event
// off would make the VM report at once, but can deadlock it with that thread.) So an object that
// nobody holds is tagged in the environment that was made last: when it is reported dead, all
// others of the same collection have been.

/// How long the reports of a collection are waited for. A collection that was under way when the
/// sentinel was made leaves it alive.
const REPORTS: Duration = Duration::from_millis(200);
/// As long for RunGC, whose collection the sentinel does not survive.
const REPORTS_OF_RUN_GC: Duration = Duration::from_secs(5);

/// Takes note that an object with a tag among those of classes was found dead.
pub fn class_tag_died(tag: i64) {
    if !is_of_sentinel(tag) {
        return;
    }
    let mut due = due();
    due.complete_reports();
    if due.sentinel == Sentinel::Lives(tag) {
        due.sentinel = Sentinel::Died;
        WAKE.notify_all();
    }
}

/// The tags of sentinels are odd, those of classes are addresses.
fn is_of_sentinel(tag: i64) -> bool {
    tag % 2 != 0
}

/// Makes the next sentinel; an earlier one counts no longer.
fn make_sentinel(jni: Jni) {
    static LAST_TAG: AtomicI64 = AtomicI64::new(1);
    let object = |jni: Jni| {
        let class = jni.find_class(c"java/lang/Object")?;
        let object = jni.new_object(class, jni.method(class, c"<init>", c"()V")?, &[])?;
        let tag = LAST_TAG.fetch_add(2, Ordering::Relaxed) + 2;
        // Before it can die.
        due().sentinel = Sentinel::Lives(tag);
        jvm::get().class_env.set_tag(object, tag).ok()
    };
    if threads::quietly(jni, || jni.frame(4, object)).is_none() {
        due().sentinel = Sentinel::None;
    }
}

/// The tags of all objects that were found dead in collections that have been reported completely,
/// the last one included if its reports come in time.
fn take_dead(jni: Jni, at_most: Duration) -> Vec<i64> {
    let unreported = |due: &mut Due| due.sentinel.lives();
    let waited = WAKE.wait_timeout_while(due(), at_most, unreported);
    let mut due = waited.unwrap_or_else(|e| e.into_inner()).0;
    let (dead, sentinel) = (std::mem::take(&mut due.complete), due.sentinel);
    drop(due);
    if !sentinel.lives() {
        make_sentinel(jni);
    }
    dead
}

/// Puts back the dead that could not be told; they ride in the next collection.
pub fn keep_for_later(tags: &[i64]) {
    due().complete.extend_from_slice(tags);
}

/// RunGC: collects, and plays the collection on the calling thread before it returns.
pub fn run(jni: Jni, thread: &Thread, play: Play) -> jvm::Result<()> {
    let _playing = lock_unless_stuck(&PLAYING);
    // What was due before is told before.
    play_due(jni, thread, play);
    // The one that is there may die of an earlier collection, whose reports are late.
    make_sentinel(jni);
    jvm::get().jvmti.force_garbage_collection()?;
    let (pauses, sentinel) = take_signs();
    gc_counts::collections_since_last_time(pauses, sentinel == Sentinel::Died);
    let dead = take_dead(jni, REPORTS_OF_RUN_GC);
    play(jni, thread, &dead);
    Ok(())
}

/// Runs `f` while no collection is being played, unless that one is stuck.
pub fn between<R>(f: impl FnOnce() -> R) -> R {
    let _playing = lock_unless_stuck(&PLAYING);
    f()
}

/// The lock, or None if its owner gets no further: it may wait in a handler for a lock that the
/// caller holds.
fn lock_unless_stuck<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    let mut progress = gate::Progress::new();
    loop {
        match mutex.try_lock() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) if progress.is_missing_for(STUCK) => return None,
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_micros(200)),
        }
    }
}

/// How long a collection that is being played may get no further until others go ahead.
const STUCK: Duration = Duration::from_millis(500);
