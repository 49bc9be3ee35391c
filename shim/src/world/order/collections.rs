//! The virtual collection.
//!
//! JVMPI's collections stop all threads, and all events of one are sent on one thread between GC_START
//! and GC_FINISH. JVMTI reports a real collection while the world is stopped, where no agent may be
//! called, and dead objects later, on a thread of the VM's. So the real events only mark that a
//! collection is due and enqueue the tags of the dead; a thread of the shim, or the caller of RunGC,
//! then plays the collection to the agents.

use super::bounded_wait::BoundedWait;
use super::{gate, gc_counts};
use crate::jvm::{self, Jni};
use crate::lock::{Condition, Lock, Locked};
use crate::world::tags::{self, Kind};
use crate::world::threads;
use crate::world::threads::os_thread::os_thread;
use crate::world::threads::record::Thread;
use jvmti_sys::JVMTI_EVENT_OBJECT_FREE;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::{Duration, Instant};

// From JDK 16 on (JDK-8212879) a thread of the VM's reports the dead of one environment after the
// other, in the order in which the environments were made, some time after the collection. (Switching
// the event off makes the VM report at once, but can deadlock it with that thread: JDK 17 to 25.) So an
// unreferenced object, a sentinel, is tagged in the environment that was made last: when it is reported
// dead, all others of the same collection have been.
//
// A walk through the heap that comes before these reports finds the dead of all environments, and the
// VM reports them to the environment that walks, on the thread that walks. A sentinel reported in this
// way has died in a collection, but reports that the VM's own thread is just making may be missing; the
// next sentinel shows when those are complete. One that another tool's walk has found is never reported
// to the shim, and one that has survived a collection of young objects may live long. So after each
// pause another one is made, whether or not the last one is dead.

/// The sentinels, by their numbers, in the order in which they were made.
struct Sentinels {
    newest: i64,
    /// The death of one up to this shows nothing new: it has died in a collection that was played, or
    /// should have.
    counted: i64,
    /// The newest one that was reported dead after all others of its collection.
    reported: i64,
    /// The newest one that a walk through the heap has found dead.
    found: i64,
}

impl Sentinels {
    fn newest_is_alive(&self) -> bool {
        self.newest > self.reported.max(self.found)
    }

    /// Whether a collection has had an effect since the last one that was played.
    fn show_effect(&self) -> bool {
        self.reported.max(self.found) > self.counted
    }

    /// As [`Self::show_effect`]; from now on that effect does not count.
    fn take_effect(&mut self) -> bool {
        let effect = self.show_effect();
        if effect {
            self.counted = self.newest;
        }
        effect
    }
}

/// What happened in the VM and was not played yet. The VM must never wait for its lock: it takes the
/// lock itself, in events while the world is stopped.
struct Due {
    /// Pauses of collectors that ended.
    pauses: u64,
    /// Whether there were collections while agents had disabled them: they are played as one when
    /// collections are enabled again.
    is_deferred: bool,
    /// Tags of dead objects, some of a collection whose reports are still coming.
    dead: Vec<i64>,
    /// Tags that were reported to walks through the heap which are still under way.
    walked: Vec<i64>,
    /// How many such walks there are.
    walks: u32,
    /// Tags of dead objects of collections that have been reported completely. A class is among
    /// them only with all its instances.
    complete: Vec<i64>,
    sentinels: Sentinels,
    /// Whether the VM ends.
    is_over: bool,
}

impl Due {
    const fn new() -> Self {
        Self {
            pauses: 0,
            is_deferred: false,
            dead: Vec::new(),
            walked: Vec::new(),
            walks: 0,
            complete: Vec::new(),
            sentinels: Sentinels { newest: 0, counted: 0, reported: 0, found: 0 },
            is_over: false,
        }
    }

    /// All dead objects of a collection have been reported.
    fn complete_reports(&mut self) {
        self.complete.append(&mut self.dead);
    }

    /// A death is reported to the environment for classes, which is the last one.
    fn class_tag_died(&mut self, tag: i64) {
        if Kind::of(tag) == Some(Kind::Sentinel) {
            self.complete_reports();
            self.sentinels.reported = self.sentinels.reported.max(tags::value(tag));
        }
    }

    /// A death is reported to the environment for objects; `walks` if that is on a thread that walks
    /// through the heap.
    fn object_died(&mut self, tag: i64, walks: bool) {
        if walks {
            self.walked.push(tag);
        } else if Kind::of(tag) == Some(Kind::Object) {
            self.dead.push(tag);
        }
    }

    /// A walk is over. With the last one the walks' reports are complete: a class is among them
    /// together with all its instances that were not reported before.
    fn walk_ended(&mut self) {
        self.walks -= 1;
        if self.walks > 0 {
            return;
        }
        for tag in std::mem::take(&mut self.walked) {
            match Kind::of(tag) {
                Some(Kind::Object) => self.dead.push(tag),
                Some(Kind::Sentinel) => {
                    self.sentinels.found = self.sentinels.found.max(tags::value(tag));
                }
                // The death of a class is that of its Class object, which has a tag of its own; a tag
                // of no kind is another tool's.
                Some(Kind::Class) | None => {}
            }
        }
    }

    /// Whether there is a sign that a collection is to be played.
    fn has_sign(&self) -> bool {
        self.pauses > 0 || self.sentinels.show_effect() || self.can_play_deferred()
    }

    /// Whether there is a deferred collection that can be played now.
    fn can_play_deferred(&self) -> bool {
        self.is_deferred && !self.is_over && !gate::gc_is_disabled()
    }
}

static DUE: Lock<Due> = Lock::new(Due::new());
static WAKE: Condition = Condition::new();

fn due() -> Locked<'static, Due> {
    DUE.lock()
}

/// Takes note that a collector's pause has ended; called while the world is stopped.
pub fn pause_ended() {
    let mut due = due();
    due.pauses += 1;
    if !reports_later() {
        due.complete_reports();
    }
    WAKE.notify_all();
}

/// Whether the VM reports the dead after the pause in which it has found them.
fn reports_later() -> bool {
    jvm::get().feature_version() >= 16
}

thread_local! {
    static WALKS: Cell<bool> = const { Cell::new(false) };
}

/// The VM's own thread that reports the dead, 0 until it is known.
static REPORTER: AtomicI32 = AtomicI32::new(0);

/// Takes note that a dead object was reported to the environment for objects.
pub fn object_died(tag: i64) {
    due().object_died(tag, WALKS.try_with(Cell::get) == Ok(true));
}

/// Takes note that a dead object was reported to the environment for classes.
pub fn class_tag_died(tag: i64) {
    REPORTER.store(os_thread(), Ordering::Relaxed);
    due().class_tag_died(tag);
    WAKE.notify_all();
}

/// Runs a walk through the heap, to which the VM may report what it finds dead.
pub fn during_walk<R>(walk: impl FnOnce() -> R) -> R {
    let _walk = WalkUnderWay::begin();
    walk()
}

struct WalkUnderWay(());

impl WalkUnderWay {
    fn begin() -> Self {
        due().walks += 1;
        WALKS.set(true);
        Self(())
    }
}

impl Drop for WalkUnderWay {
    fn drop(&mut self) {
        WALKS.set(false);
        due().walk_ended();
        WAKE.notify_all();
    }
}

/// Sends agents the events of a collection, which is `translate`'s part. False if garbage collection is
/// disabled, so that nothing was sent.
///
/// The arguments are the thread that plays it and the tags of the dead.
pub type Play = fn(Jni, &Thread, &[i64]) -> bool;

/// The OS thread that plays collections just now, 0 for none. The lock is not held meanwhile.
static PLAYER: Lock<i32> = Lock::new(0);
/// Signalled when there is none.
static PLAYED: Condition = Condition::new();

/// The right to play collections, which one thread has at a time.
struct Playing(());

impl Playing {
    /// Waits for the right. None if its owner is the current thread, or cannot go on before that.
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
            if !waiting.can_go_on(other) {
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

/// The OS thread that plays the collections that no agent has asked for.
static THREAD: AtomicI32 = AtomicI32::new(0);

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

/// Waits for a sign that there was a collection; false if none will be played any more.
fn wait_for_signs() -> bool {
    let mut due = due();
    while !due.is_over && !due.has_sign() {
        due = WAKE.wait(due);
    }
    !due.is_over
}

/// Takes note that agents have enabled collections again.
pub fn enabled_again() {
    if due().is_deferred {
        WAKE.notify_all();
    }
}

/// Waits for a deferred collection that can be played now. Agents that disable collections most of the
/// time would leave no room for it.
pub fn let_deferred_go_first() {
    let mut waiting = BoundedWait::new();
    while due().can_play_deferred() && waiting.can_go_on(THREAD.load(Ordering::Relaxed)) {
        waiting.sleep();
    }
}

/// Ends the thread that plays collections. The VM, when it ends, waits for threads that it finds in
/// native code, for 300 ms.
pub fn end() {
    due().is_over = true;
    WAKE.notify_all();
}

/// Plays one collection for each that is due; the dead go with the first.
fn play_due(jni: Jni, thread: &Thread, play: Play, playing: &Playing) {
    let (pauses, effect, is_deferred) = take_signs();
    let collections = gc_counts::collections_since_last_time(pauses, effect);
    if collections > 0 && !effect {
        wait_for_reports(Duration::ZERO);
        due().sentinels.take_effect();
    }
    make_sentinel(jni);
    for _ in 0..collections + u64::from(is_deferred) {
        if !play_one(jni, thread, play, playing) {
            return;
        }
    }
}

/// The pauses, whether they had an effect, and whether there is a deferred collection.
fn take_signs() -> (u64, bool, bool) {
    let mut due = due();
    let pauses = std::mem::take(&mut due.pauses);
    (pauses, due.sentinels.take_effect(), due.is_deferred)
}

/// Plays a collection with all the dead whose reports are complete. False if collections are disabled:
/// then this one is deferred.
fn play_one(jni: Jni, thread: &Thread, play: Play, _: &Playing) -> bool {
    let dead = std::mem::take(&mut due().complete);
    let is_played = play(jni, thread, &dead);
    let mut due = due();
    due.is_deferred = !is_played;
    if !is_played {
        due.complete.extend(dead);
    }
    is_played
}

/// Makes the next sentinel; its number, None if none can be made.
fn make_sentinel(jni: Jni) -> Option<i64> {
    let object = |jni: Jni| {
        let class = jni.find_class(c"java/lang/Object")?;
        let object = jni.new_object(class, jni.method(class, c"<init>", c"()V")?, &[])?;
        let number = {
            let mut due = due();
            // Before it can die.
            due.sentinels.newest += 1;
            due.sentinels.newest
        };
        jvm::get().class_env.set_tag(object, Kind::Sentinel.tag(number)).ok()?;
        Some(number)
    };
    threads::quietly(jni, || jni.frame(4, object))
}

/// How long to wait for the reports while it is not known which thread of the VM's makes them. If they
/// come later, the dead are part of the next collection.
const FIRST_REPORTS: Duration = Duration::from_millis(200);

/// How long RunGC waits although that thread is blocked. When the VM's call for RunGC returns, a
/// concurrent collector has finished its cycle, but its thread that wakes the reporting one may still
/// have to wait for a processor.
const UNTIL_WOKEN: Duration = Duration::from_secs(2);

/// Waits until the newest sentinel is known to be dead, as long as the VM's thread that reports that
/// is at work, and for `at_least` in any case. A collection that had begun before the sentinel was made
/// leaves it alive.
fn wait_for_reports(at_least: Duration) {
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
            reporter => waiting.can_go_on(reporter),
        };
        if !is_at_work && begun.elapsed() >= at_least {
            return;
        }
    }
}

/// RunGC: collects, and plays the collection on the calling thread before it returns. If another
/// collection is being played and cannot go on before the calling thread does, the new one is played
/// later.
pub fn run(jni: Jni, thread: &Thread, play: Play) -> jvm::Result<()> {
    let Some(playing) = Playing::begin() else {
        return jvm::get().jvmti.force_garbage_collection();
    };
    // The collections that were due before come first.
    play_due(jni, thread, play, &playing);
    loop {
        // An older sentinel may have died in an earlier collection, whose reports are late.
        let sentinel = make_sentinel(jni);
        {
            // This thread is blocked for as long as a concurrent collector takes: no reason for others to
            // give it up.
            let mut collection = BoundedWait::new();
            collection.ends_by_itself();
            jvm::get().jvmti.force_garbage_collection()?;
        }
        wait_for_reports(UNTIL_WOKEN);
        // If a walk has found the sentinel, the reports are complete only after one more collection.
        if sentinel.is_none_or(|sentinel| due().sentinels.found < sentinel) {
            break;
        }
    }
    let (pauses, effect, _) = take_signs();
    gc_counts::collections_since_last_time(pauses, effect);
    play_one(jni, thread, play, &playing);
    Ok(())
}

/// Runs `f` while no collection is being played, but for one that cannot go on before the current
/// thread does.
pub fn between<R>(f: impl FnOnce() -> R) -> R {
    let _playing = Playing::begin();
    f()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(id: i64) -> i64 {
        Kind::Object.tag(id)
    }

    #[test]
    fn the_dead_are_complete_when_a_sentinel_is_reported_last() {
        let mut due = Due::new();
        due.object_died(object(16), false);
        due.class_tag_died(Kind::Class.tag(0x1000));
        assert!(due.complete.is_empty());
        due.class_tag_died(Kind::Sentinel.tag(1));
        assert_eq!((due.complete, due.dead), (vec![object(16)], vec![]));
    }

    #[test]
    fn what_a_walk_finds_dead_is_sorted_by_kind() {
        let mut due = Due::new();
        due.sentinels.newest = 2;
        due.walks = 1;
        for tag in [object(16), 16, Kind::Class.tag(0x1000), Kind::Sentinel.tag(1), object(32)] {
            due.object_died(tag, true);
        }
        // The VM's own thread goes on meanwhile.
        due.object_died(object(48), false);
        due.class_tag_died(Kind::Sentinel.tag(2));
        assert_eq!(due.complete, [object(48)]);
        due.walk_ended();
        assert_eq!(due.dead, [object(16), object(32)]);
        assert!(due.sentinels.take_effect() && !due.sentinels.show_effect());
        due.sentinels.newest = 3;
        due.class_tag_died(Kind::Sentinel.tag(3));
        assert_eq!(due.complete, [object(48), object(16), object(32)]);
    }

    #[test]
    fn other_tools_tags_are_no_objects_of_ours() {
        let mut due = Due::new();
        for tag in [1, 16, 0x7f00_0000_1000] {
            due.object_died(tag, false);
        }
        assert!(due.dead.is_empty());
    }
}
