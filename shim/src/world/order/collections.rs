//! The virtual collection.
//!
//! JVMPI's collections stop all threads, and everything that happens in one is told on one thread
//! between GC_START and GC_FINISH. JVMTI tells of a real collection while the world is stopped,
//! where no agent may be called, and of dead objects later, on a thread of the VM's. So the real
//! events only mark that a collection is due and queue the tags of the dead; a thread of the
//! shim, or the caller of RunGC, then plays the collection to the agents.

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

// From JDK 16 on a thread of the VM's reports the dead of one environment after the other, in the
// order in which the environments were made, some time after the collection. (Switching the event
// off would make the VM report at once, but can deadlock it with that thread.) So an object that
// nobody holds, a sentinel, is tagged in the environment that was made last: when it is reported
// dead, all others of the same collection have been.
//
// A walk through the heap that comes before these reports finds the dead of all environments, and
// they are reported to the one that walks, on the thread that walks. A sentinel that is found so died
// in a collection, but of what the VM's own thread is just reporting something may be missing; the
// next sentinel will tell. One that another tool's walk has found is never heard of again, and one
// that has survived a collection of young objects may live long. So after each pause another one
// is made, whether or not the last one is dead.

/// The objects that nobody holds, by their numbers, in the order in which they were made.
struct Sentinels {
    newest: i64,
    /// Of these a death shows nothing new: a collection that was played has taken them away, or
    /// should have.
    counted: i64,
    /// The newest one that was reported dead when all else had been.
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

    /// Whether there was such an effect; from now on it is none.
    fn take_effect(&mut self) -> bool {
        let effect = self.show_effect();
        if effect {
            self.counted = self.newest;
        }
        effect
    }
}

/// What happened in the real VM and was not told yet. Whoever holds the lock never calls the VM:
/// the events come while the world is stopped.
struct Due {
    /// Pauses of collectors that ended.
    pauses: u64,
    /// Whether there were collections while agents had disabled them: to agents they are one, which
    /// comes when collections are enabled again.
    is_owed: bool,
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
            is_owed: false,
            dead: Vec::new(),
            walked: Vec::new(),
            walks: 0,
            complete: Vec::new(),
            sentinels: Sentinels { newest: 0, counted: 0, reported: 0, found: 0 },
            is_over: false,
        }
    }

    /// What was reported until now is all that a collection has found.
    fn complete_reports(&mut self) {
        self.complete.append(&mut self.dead);
    }

    /// The environment for classes, the last one, hears of a death.
    fn class_tag_died(&mut self, tag: i64) {
        if Kind::of(tag) == Some(Kind::Sentinel) {
            self.complete_reports();
            self.sentinels.reported = self.sentinels.reported.max(tags::value(tag));
        }
    }

    /// The environment for objects hears of a death; `walks` if that is on a thread that walks
    /// through the heap.
    fn object_died(&mut self, tag: i64, walks: bool) {
        if walks {
            self.walked.push(tag);
        } else if Kind::of(tag) == Some(Kind::Object) {
            self.dead.push(tag);
        }
    }

    /// A walk is over. With the last one their reports are complete: a class is among them with all
    /// its instances that were not reported before.
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
                // A class is told by the tag of its Class object; what is of no kind is not ours.
                Some(Kind::Class) | None => {}
            }
        }
    }

    /// Whether there is a sign that a collection is to be told.
    fn has_sign(&self) -> bool {
        self.pauses > 0 || self.sentinels.show_effect() || self.can_pay()
    }

    /// Whether a collection that is owed can be told now.
    fn can_pay(&self) -> bool {
        self.is_owed && !self.is_over && !gate::gc_is_disabled()
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

/// Takes note that a tagged object was found dead, as the environment for objects hears of it.
pub fn object_died(tag: i64) {
    due().object_died(tag, WALKS.try_with(Cell::get) == Ok(true));
}

/// Takes note that a tagged object was found dead, as the environment for classes hears of it.
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

/// Plays a collection: the agents' side of it, which `translate` knows. False if it was not played
/// as garbage collection is disabled.
///
/// The arguments are the thread that plays it and the tags of the dead.
pub type Play = fn(Jni, &Thread, &[i64]) -> bool;

/// The OS thread that plays collections just now, 0 for none. The lock is not held meanwhile.
static PLAYER: Lock<i32> = Lock::new(0);
/// Signalled when there is none.
static PLAYED: Condition = Condition::new();

/// Leave to play collections, which one thread has at a time.
struct Playing(());

impl Playing {
    /// Waits for the leave. None if the thread that has it waits for the one that runs, or is that.
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

/// The OS thread that plays what nobody has asked for.
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
pub fn may_go_on() {
    if due().is_owed {
        WAKE.notify_all();
    }
}

/// Waits for a collection that is owed and can be told now. Agents that disable collections most of
/// the time would leave no room for it.
pub fn let_owed_go_first() {
    let mut waiting = BoundedWait::new();
    while due().can_pay() && waiting.can_go_on(THREAD.load(Ordering::Relaxed)) {
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
    let (pauses, effect, is_owed) = take_signs();
    let collections = gc_counts::collections_since_last_time(pauses, effect);
    if collections > 0 && !effect {
        wait_for_reports(Duration::ZERO);
        due().sentinels.take_effect();
    }
    make_sentinel(jni);
    for _ in 0..collections + u64::from(is_owed) {
        if !play_one(jni, thread, play, playing) {
            return;
        }
    }
}

/// The pauses, whether they had an effect, and whether a collection is owed.
fn take_signs() -> (u64, bool, bool) {
    let mut due = due();
    let pauses = std::mem::take(&mut due.pauses);
    (pauses, due.sentinels.take_effect(), due.is_owed)
}

/// Plays a collection with all the dead whose reports are complete. If collections are disabled this
/// one comes later: then it returns false.
fn play_one(jni: Jni, thread: &Thread, play: Play, _: &Playing) -> bool {
    let dead = std::mem::take(&mut due().complete);
    let is_played = play(jni, thread, &dead);
    let mut due = due();
    due.is_owed = !is_played;
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

/// How long the reports are waited for before it is known which thread of the VM's makes them. If they
/// come later, the dead ride in the next collection.
const FIRST_REPORTS: Duration = Duration::from_millis(200);

/// How long RunGC lets that thread sleep. A concurrent collector has finished its cycle when RunGC's
/// call returns, but the collector's thread that wakes the other may have to wait for a processor yet.
const UNTIL_WOKEN: Duration = Duration::from_secs(2);

/// Waits until the newest sentinel is known to be dead, as long as the VM's thread that reports that
/// is at work, and at least so long. A collection that was under way when the sentinel was made leaves
/// it alive.
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
/// collection is being told and cannot go on before the calling thread does, the new one is told later.
pub fn run(jni: Jni, thread: &Thread, play: Play) -> jvm::Result<()> {
    let Some(playing) = Playing::begin() else {
        return jvm::get().jvmti.force_garbage_collection();
    };
    // What was due before is told before.
    play_due(jni, thread, play, &playing);
    loop {
        // One that was made before may die of an earlier collection, whose reports are late.
        let sentinel = make_sentinel(jni);
        {
            // Who waits for this thread sees it sleep, as long as a concurrent collector takes.
            let mut collection = BoundedWait::new();
            collection.ends_by_itself();
            jvm::get().jvmti.force_garbage_collection()?;
        }
        wait_for_reports(UNTIL_WOKEN);
        // What a walk has found is complete after one more collection.
        if sentinel.is_none_or(|sentinel| due().sentinels.found < sentinel) {
            break;
        }
    }
    let (pauses, effect, _) = take_signs();
    gc_counts::collections_since_last_time(pauses, effect);
    play_one(jni, thread, play, &playing);
    Ok(())
}

/// Runs `f` while no collection is being played, unless that one cannot go on before the thread that
/// runs does.
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
    fn what_a_walk_finds_dead_is_told_whatever_it_is() {
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
