//! Finds objects by their IDs.
//!
//! JVMTI finds objects by their tags in time proportional to all tags in use. Agents request one object after the
//! other, such as all objects that a dump names. So after some searches a table of all objects is created. It is kept
//! until the agents enable collections again.

use super::{deaths, heap_walk};
use crate::records::ids::{self, Tag};
use crate::records::{phase, registry};
use crate::{classes, threads};
use jni_sys::{jint, jlong, jobject};
use jvm::boundary::OnDrop;
use jvm::heap::{Edge, Next, Object, Referrer, Visitor};
use jvm::lock::{Lock, Memo};
use jvm::platform::cpu_clock;
use jvm::types::{JVMTI_EVENT_OBJECT_FREE, JVMTI_HEAP_FILTER_UNTAGGED};
use jvm::{Jni, LARGE_FRAME, WeakRef};
use jvmpi_sys::jobjectID;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The number of searches that take about as long as creating the table (measured: 25 to 60). So requests never take
/// more than twice as long as with the faster of the two methods.
const SEARCHES: u32 = 32;

/// The limit in place of [`SEARCHES`] while an agent reads a heap dump: it usually requests many of the objects.
const SEARCHES_IN_DUMP: u32 = 2;

/// The CPU time of searches after which a warning is logged, because users wonder about a program that stops for so
/// long.
const LONG: Duration = Duration::from_secs(3);

struct State {
    table: Option<Arc<Table>>,
    /// The number of searches since the last table was created or dropped.
    searches: u32,
    /// The number of searches after which a new table is created.
    limit: u32,
    /// The CPU time that searches and the creation of tables have taken since the VM began.
    taken: Duration,
}

static STATE: Lock<State> =
    Lock::new(State { table: None, searches: 0, limit: SEARCHES, taken: Duration::ZERO });

/// Returns the object with this ID, as a reference in the current frame. None if there is none or it is dead.
///
/// Fast for classes, threads and the object of the event in flight; others are searched.
pub fn object(jni: Jni, id: jobjectID) -> Option<jobject> {
    if !ids::was_given(id) {
        return None;
    }
    if let Some(object) = threads::current(jni).current_object.object(id) {
        return Some(jni.new_local(object));
    }
    if let Some(class) = classes::by_id(id) {
        return class.object(jni);
    }
    if let Some(thread) = registry::by_id(id) {
        return thread.object().map(|object| jni.new_local(object.get()));
    }
    search(jni, id, &ids::possible_tags(id))
}

/// Returns the object with this ID, as a reference in the current frame. If no table has it, the objects with one of
/// the tags are searched.
fn search(jni: Jni, id: jobjectID, tags: &[jlong]) -> Option<jobject> {
    let in_table = |table: Arc<Table>| table.object(jni, id);
    let table = STATE.lock().table.clone();
    if let Some(object) = table.and_then(in_table) {
        return Some(object);
    }
    let began = cpu_clock::current();
    let object = match is_table_due().then(|| make_table(jni)).flatten().and_then(in_table) {
        Some(object) => Some(object),
        None => jvm::get().jvmti.tagged(tags),
    };
    count(cpu_clock::current() - began);
    object
}

/// Counts a search. Returns true if it is time to create a table.
fn is_table_due() -> bool {
    let searches = {
        let mut state = STATE.lock();
        state.searches += 1;
        if state.searches <= state.limit {
            return false;
        }
        // If this table lacks the requested object, the next one may lack it too.
        state.limit = state.limit.saturating_mul(2);
        std::mem::take(&mut state.searches) - 1
    };
    log::debug!("after {searches} searches for objects a table of all is made");
    true
}

/// Lowers the limit, because an agent is about to read a heap dump and may request the objects in it.
pub fn expect_requests() {
    let mut state = STATE.lock();
    state.limit = state.limit.min(SEARCHES_IN_DUMP);
}

/// Drops the table. Keeps it if collections are disabled, because no ID dies then, or if the thread is not attached and
/// so cannot delete references.
pub fn end_run() {
    let can_drop = || phase::vm_answers() && jvm::get().jni().is_some();
    if deaths::is_gc_disabled() || !can_drop() {
        return;
    }
    let mut state = STATE.lock();
    state.searches = 0;
    state.limit = SEARCHES;
    let table = state.table.take();
    drop(state);
    drop(table);
}

fn count(nanos: i64) {
    let mut state = STATE.lock();
    let before = state.taken;
    state.taken += Duration::from_nanos(nanos.max(0) as u64);
    let is_long = before < LONG && state.taken >= LONG;
    drop(state);
    if is_long {
        log::warn!(
            "finding objects by their IDs has taken {} s of processor time: it takes time in \
             proportion to all objects, and less if an agent asks for many between DisableGC and \
             EnableGC",
            LONG.as_secs()
        );
    }
}

/// All objects that had an ID when the table was created.
struct Table {
    /// Objects that a walk along references has met.
    met: Entries,
    /// All others: garbage, and objects that only native code refers to. They are found in batches. A batch takes about
    /// as long as one object.
    others: Vec<Others>,
}

impl Table {
    fn object(&self, jni: Jni, id: jobjectID) -> Option<jobject> {
        entry(&self.met, jni, id).or_else(|| {
            let after = self.others.partition_point(|others| others.first() <= id);
            self.others[..after].last()?.object(jni, id)
        })
    }
}

/// Objects by their IDs.
type Entries = FxHashMap<usize, WeakRef>;

fn entry(entries: &Entries, jni: Jni, id: jobjectID) -> Option<jobject> {
    let object = entries.get(&id.addr())?.get(jni)?;
    // The object may have got another ID since.
    (ids::tag(object).map(Tag::id) == Ok(id)).then_some(object)
}

/// A batch of objects that are found when one of them is requested.
struct Others {
    /// Their tags in the order of their IDs; at least one.
    tags: Vec<jlong>,
    found: Memo<Entries>,
}

/// The number of objects found at a time. JVMTI compares each tag in use with each requested tag, and a few hundred
/// comparisons take no longer than reading the next tag in use.
const AT_A_TIME: usize = 1024;

impl Others {
    fn first(&self) -> jobjectID {
        Tag::from_raw(self.tags[0]).id()
    }

    fn object(&self, jni: Jni, id: jobjectID) -> Option<jobject> {
        let ids = |tag: &jlong| Tag::from_raw(*tag).id().cmp(&id);
        self.tags.binary_search_by(ids).ok()?;
        entry(self.found.get_or_find(|| self.find(jni)), jni, id)
    }

    fn find(&self, jni: Jni) -> Entries {
        jni.frame(LARGE_FRAME, |jni| {
            let found = jvm::get().jvmti.all_tagged(&self.tags).unwrap_or_default();
            let entry = |(object, tag): (jobject, jlong)| {
                (Tag::from_raw(tag).id().addr(), WeakRef::new(jni, object))
            };
            found.into_iter().map(entry).collect()
        })
    }
}

/// Creates the table, unless another thread is doing so.
fn make_table(jni: Jni) -> Option<Arc<Table>> {
    static IS_BEING_MADE: AtomicBool = AtomicBool::new(false);
    if IS_BEING_MADE.swap(true, Ordering::Acquire) {
        return None;
    }
    let _after = OnDrop(|| IS_BEING_MADE.store(false, Ordering::Release));
    let table = match Table::new(jni) {
        Ok(table) => Arc::new(table),
        Err(error) => {
            log::debug!("objects are searched for one by one: {error}");
            return None;
        }
    };
    let outdated = STATE.lock().table.replace(Arc::clone(&table));
    drop(outdated);
    Some(table)
}

impl Table {
    fn new(jni: Jni) -> Result<Self, String> {
        let met = meet(jni)?;
        let mut others = Vec::new();
        let visit = |_class, raw: &mut jlong, _size| {
            let id = Tag::from_raw(*raw).id();
            if !id.is_null() && !met.contains_key(&id.addr()) {
                others.push(*raw);
            }
        };
        deaths::during_walk(|| {
            jvm::get().jvmti.iterate_through_heap(JVMTI_HEAP_FILTER_UNTAGGED as jint, visit)
        })?;
        others.sort_unstable_by_key(|tag| Tag::from_raw(*tag).id());
        let others = others.chunks(AT_A_TIME);
        let others = others.map(|tags| Others { tags: tags.to_vec(), found: Memo::new() });
        Ok(Self { met, others: others.collect() })
    }
}

/// The number of objects that get the same tag. This many local references at a time cost little.
const GROUP: usize = 4096;

/// The largest number of parts in which the objects are found by their tags. Each part reads all tags, and a single
/// part would need a local reference to each object.
const PARTS: usize = 16;

/// The smallest number of groups in a part, because each part reads all tags. It must not be large: with `-Xcheck:jni`
/// HotSpot reads all local references for each new weak one.
const GROUPS: usize = 4;

/// Returns the objects with an ID that a walk along references meets, with their IDs.
///
/// Only GetObjectsWithTags creates references to many objects, in time proportional also to the number of requested
/// tags. So the objects temporarily get shared tags in a separate environment.
fn meet(jni: Jni) -> Result<Entries, String> {
    let env = jvm::get().lookup_env;
    // The walk finds dead objects of all environments, and the VM reports them to this one.
    env.set_notification(JVMTI_EVENT_OBJECT_FREE, true)?;
    let mut groups = Groups::default();
    heap_walk::from_roots(jni, &threads::current(jni), env, &mut groups)?;
    let tags: Vec<_> = (0..groups.count.div_ceil(GROUP)).map(group_tag).collect();
    let mut objects = Entries::with_capacity_and_hasher(groups.count, FxBuildHasher);
    for part in tags.chunks(tags.len().div_ceil(PARTS).max(GROUPS)) {
        jni.frame(LARGE_FRAME, |jni| -> jvm::Result<()> {
            for (object, _) in env.all_tagged(part)? {
                env.set_tag(object, 0)?;
                let id = ids::tag(object)?.id().addr();
                if id != 0 {
                    objects.insert(id, WeakRef::new(jni, object));
                }
            }
            Ok(())
        })?;
    }
    Ok(objects)
}

/// Returns a small number, which is of no [kind](ids::Kind): such deaths need no report.
fn group_tag(number: usize) -> jlong {
    number as jlong + 1
}

/// Puts all objects into groups.
#[derive(Default)]
struct Groups {
    count: usize,
}

impl Visitor for Groups {
    fn reference(&mut self, _: Edge, _: Object, tag: &mut jlong, _: Option<Referrer>) -> Next {
        if *tag == 0 {
            *tag = group_tag(self.count / GROUP);
            self.count += 1;
        }
        Next::Follow
    }
}
