//! The collections and deaths that the VM has reported and that were not delivered yet.
//!
//! From JDK 16 on (JDK-8212879), a thread of the VM reports the dead objects some time after a
//! collection: one environment after the other, in the order of their creation. (Switching the event off
//! makes the VM report at once, but can deadlock it with that thread: JDK 17 to 25.) So an unreferenced
//! object, a sentinel, is tagged in the newest environment: its death is reported after all others of
//! the same collection.
//!
//! A walk through the heap that comes before these reports finds the dead of all environments, and the
//! VM reports them to the walking environment, on the walking thread. A sentinel reported in this way
//! has died in a collection, but reports that the VM's own thread is just making may be missing. The
//! next sentinel shows when those are complete. A sentinel found by another tool's walk is never
//! reported to the shim, and one that has survived a young collection may live long. So each pause is
//! followed by a new sentinel, even if the last one is not dead.

use crate::records::ids::{self, Kind};
use crate::records::pauses::Pauses;
use crate::threads;
use jvm::Jni;
use jvm::boundary::OnDrop;
use jvm::lock::{Condition, Lock, Locked};
use jvm::platform::sync::atomic::{AtomicU32, Ordering};
use std::cell::Cell;
use std::time::Instant;

/// The sentinels, by number in the order of their creation.
pub struct Sentinels {
    newest: i64,
    /// Deaths of sentinels up to this number show nothing new: those sentinels have died in a delivered
    /// collection, or should have.
    counted: i64,
    /// The newest sentinel that was reported dead after all other deaths of its collection.
    reported: i64,
    /// The newest sentinel that a walk through the heap has found dead.
    pub found: i64,
}

impl Sentinels {
    pub fn newest_is_alive(&self) -> bool {
        self.newest > self.reported.max(self.found)
    }

    /// Returns true if a collection has had an effect since the last delivered one.
    pub fn show_effect(&self) -> bool {
        self.reported.max(self.found) > self.counted
    }

    /// Returns the same as [`Self::show_effect`]. From now on that effect does not count.
    pub fn take_effect(&mut self) -> bool {
        let effect = self.show_effect();
        if effect {
            self.counted = self.newest;
        }
        effect
    }
}

/// Reports of the VM that were not delivered yet. The VM must never have to wait for the lock, which
/// JVMTI callbacks take while the world is stopped.
pub struct Due {
    /// True if a pause of the collector has ended since the last new sentinel.
    pub has_paused: bool,
    /// The time of the pauses that were not delivered yet.
    pub time: Pauses,
    /// True if there were collections while agents had disabled them. They are delivered as one when
    /// collections are enabled again.
    pub is_deferred: bool,
    /// Tags of dead objects, some of them of a collection whose reports are still coming.
    dead: Vec<i64>,
    /// Tags reported to walks through the heap that are still in progress.
    walked: Vec<i64>,
    /// The number of such walks.
    walks: u32,
    /// Tags of dead objects of collections that have been reported completely. A class is among them
    /// only with all its instances.
    pub complete: Vec<i64>,
    pub sentinels: Sentinels,
    /// True if the VM is ending.
    pub is_over: bool,
}

impl Due {
    const fn new() -> Self {
        Self {
            has_paused: false,
            time: Pauses::NONE,
            is_deferred: false,
            dead: Vec::new(),
            walked: Vec::new(),
            walks: 0,
            complete: Vec::new(),
            sentinels: Sentinels { newest: 0, counted: 0, reported: 0, found: 0 },
            is_over: false,
        }
    }

    /// Returns the number of reports that no complete collection has yet.
    pub fn reports(&self) -> usize {
        self.dead.len()
    }

    /// Called when all dead objects of a collection have been reported.
    fn complete_reports(&mut self) {
        self.complete.append(&mut self.dead);
    }

    /// Records a death reported to the environment for classes, which is the newest one.
    fn class_tag_died(&mut self, tag: i64) {
        if Kind::of(tag) == Some(Kind::Sentinel) {
            self.complete_reports();
            self.sentinels.reported = self.sentinels.reported.max(ids::value(tag));
        }
    }

    /// Records a death reported to the environment for objects. `walks` is true if the report came on a
    /// thread that walks through the heap.
    fn object_died(&mut self, tag: i64, walks: bool) {
        if walks {
            self.walked.push(tag);
        } else if Kind::of(tag) == Some(Kind::Object) {
            self.dead.push(tag);
        }
    }

    /// Records the end of a walk. After the last one the walks' reports are complete: they contain a
    /// class only together with all its instances that were not reported before.
    fn walk_ended(&mut self) {
        self.walks -= 1;
        if self.walks > 0 {
            return;
        }
        for tag in std::mem::take(&mut self.walked) {
            match Kind::of(tag) {
                Some(Kind::Object) => self.dead.push(tag),
                Some(Kind::Sentinel) => {
                    self.sentinels.found = self.sentinels.found.max(ids::value(tag));
                }
                // The death of a class is that of its Class object, which has a tag of its own. A tag of
                // no kind belongs to another tool.
                Some(Kind::Class) | None => {}
            }
        }
    }

    /// Returns true if there is a sign that a collection has to be delivered.
    pub fn has_sign(&self) -> bool {
        self.has_paused || self.sentinels.show_effect() || self.can_play_deferred()
    }

    /// Returns true if a deferred collection can be delivered now.
    pub fn can_play_deferred(&self) -> bool {
        self.is_deferred && !self.is_over && !is_gc_disabled()
    }
}

static DUE: Lock<Due> = Lock::new(Due::new());
pub static WAKE: Condition = Condition::new();

pub fn due() -> Locked<'static, Due> {
    DUE.lock()
}

/// The number of DisableGC calls without a matching EnableGC.
static DISABLED: AtomicU32 = AtomicU32::new(0);

/// Disables the delivery of collections once more.
pub fn disable_gc() {
    DISABLED.fetch_add(1, Ordering::SeqCst);
}

/// Undoes one [`disable_gc`] of any thread, if there is one. After the last one, a deferred collection is delivered.
pub fn enable_gc() {
    let less = |n: u32| n.checked_sub(1);
    let before = DISABLED.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
    if before == Ok(1) && due().is_deferred {
        WAKE.notify_all();
    }
}

/// Returns true if an agent has disabled the delivery of collections.
pub fn is_gc_disabled() -> bool {
    DISABLED.load(Ordering::SeqCst) > 0
}

/// Records that a collector's pause begins. Called while the world is stopped.
pub fn pause_begins() {
    due().time.begin(Instant::now());
}

/// Records that a collector's pause has ended. Called while the world is stopped.
pub fn pause_ended() {
    let mut due = due();
    due.time.end(Instant::now());
    due.has_paused = true;
    if !reports_later() {
        due.complete_reports();
    }
    WAKE.notify_all();
}

/// Returns true if the VM reports dead objects later than in the pause in which it has found them.
pub fn reports_later() -> bool {
    jvm::get().feature_version() >= 16
}

thread_local! {
    static WALKS: Cell<bool> = const { Cell::new(false) };
}

/// Records that a dead object was reported to the environment for objects.
pub fn object_died(tag: i64) {
    due().object_died(tag, WALKS.try_with(Cell::get) == Ok(true));
}

/// Records that a dead object was reported to the environment for classes.
pub fn class_tag_died(tag: i64) {
    due().class_tag_died(tag);
    WAKE.notify_all();
}

/// Runs a walk through the heap, during which the VM may report the dead objects that it finds.
pub fn during_walk<R>(walk: impl FnOnce() -> R) -> R {
    due().walks += 1;
    WALKS.set(true);
    let _after = OnDrop(|| {
        WALKS.set(false);
        due().walk_ended();
        WAKE.notify_all();
    });
    walk()
}

/// Takes the signs of collections. Returns true if one has to be delivered.
pub fn take_signs() -> bool {
    let mut due = due();
    due.has_paused = false;
    due.sentinels.take_effect() || due.is_deferred
}

/// Creates the next sentinel and returns its number. None if it cannot be created.
pub fn make_sentinel(jni: Jni) -> Option<i64> {
    let object = |jni: Jni| {
        let class = jni.find_class(c"java/lang/Object")?;
        let object = jni.new_object(class, jni.method(class, c"<init>", c"()V")?, &[])?;
        let number = {
            let mut due = due();
            // It is counted before it can die.
            due.sentinels.newest += 1;
            due.sentinels.newest
        };
        jvm::get().class_env.set_tag(object, Kind::Sentinel.tag(number)).ok()?;
        Some(number)
    };
    threads::internally(jni, || jni.frame(4, object))
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
    fn deaths_found_by_a_walk_are_sorted_by_kind() {
        let mut due = Due::new();
        due.sentinels.newest = 2;
        due.walks = 1;
        for tag in [object(16), 16, Kind::Class.tag(0x1000), Kind::Sentinel.tag(1), object(32)] {
            due.object_died(tag, true);
        }
        // The VM's own thread reports deaths meanwhile.
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
}
