//! Finding objects by their IDs.
//!
//! JVMTI finds objects by their tags in time proportional to all tags that are in use. Agents ask for
//! one object after the other, such as all that a dump names. So after some searches of this kind a
//! table of all objects is made, which is kept until the agents enable collections again.

use super::deaths;
use crate::classes;
use crate::jvm::heap::{Edge, Next, Object, Referrer, Visitor};
use crate::jvm::{self, Jni, LARGE_FRAME, Result, WeakRef};
use crate::lock::{Lock, Memo};
use crate::platform::cpu_clock;
use crate::records::gc_switch;
use crate::records::ids::Tag;
use crate::records::registry;
use crate::records::{ids, phase};
use crate::sync::tagging;
use crate::threads;
use jni_sys::{jint, jlong, jobject};
use jvmpi_sys::jobjectID;
use jvmti_sys::{JVMTI_EVENT_OBJECT_FREE, JVMTI_HEAP_FILTER_UNTAGGED};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How many searches take about as long as making the table (measured: 25 to 60). So requests never
/// take more than twice as long as by the quicker of the two ways.
const SEARCHES: u32 = 32;

/// The limit in place of [`SEARCHES`] while an agent reads a heap dump: it usually requests many of the objects.
const SEARCHES_IN_DUMP: u32 = 2;

/// The processor time of searches after which a warning is logged: users wonder about a program that
/// stops for so long.
const LONG: Duration = Duration::from_secs(3);

struct State {
    table: Option<Arc<Table>>,
    /// The number of searches since the last table was made or dropped.
    searches: u32,
    /// The number of searches after which a new table is made.
    limit: u32,
    /// The processor time that searches and the making of tables have taken since the VM began.
    taken: Duration,
}

static STATE: Lock<State> =
    Lock::new(State { table: None, searches: 0, limit: SEARCHES, taken: Duration::ZERO });

/// The object with this ID, in the current frame; None if there is none or it is gone.
///
/// Fast for classes, threads and the subject of the event in flight; others are searched for.
pub fn object(jni: Jni, id: jobjectID) -> Option<jobject> {
    if !ids::was_given(id) {
        return None;
    }
    if let Some(object) = threads::current(jni).subject.object(id) {
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

/// The object with this ID, in the current frame; it is searched for among those with one of the
/// tags if it is in no table.
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

/// Counts a search; true if it is time to make a table.
fn is_table_due() -> bool {
    let searches = {
        let mut state = STATE.lock();
        state.searches += 1;
        if state.searches <= state.limit {
            return false;
        }
        // If this table lacks what is asked for, the next one may too.
        state.limit = state.limit.saturating_mul(2);
        std::mem::take(&mut state.searches) - 1
    };
    log::debug!("after {searches} searches for objects a table of all is made");
    true
}

/// A run of requests, during which no ID dies; at its end the table is dropped.
pub struct Run(());

impl Run {
    pub fn begin() -> Self {
        Self(())
    }

    /// An agent is about to read a heap dump, and may ask for the objects in it.
    pub fn expect_requests(&self) {
        let mut state = STATE.lock();
        state.limit = state.limit.min(SEARCHES_IN_DUMP);
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        end_run();
    }
}

/// Drops the table, unless collections are disabled, so that no ID dies anyway. Only an attached thread
/// can delete references.
pub fn end_run() {
    let can_drop = || phase::vm_answers() && jvm::get().jni().is_some();
    if gc_switch::is_off() || !can_drop() {
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

/// All objects that had an ID when the table was made.
struct Table {
    /// Objects that a walk along references has met.
    met: Entries,
    /// All others: garbage, and objects that only native code refers to. They are found in batches that
    /// take about as long as one object.
    others: Vec<Others>,
}

impl Table {
    fn object(&self, jni: Jni, id: jobjectID) -> Option<jobject> {
        self.met.object(jni, id).or_else(|| {
            let after = self.others.partition_point(|others| others.first() <= id);
            self.others[..after].last()?.object(jni, id)
        })
    }
}

/// Objects by their IDs.
struct Entries {
    ids: Vec<usize>,
    objects: Vec<WeakRef>,
}

impl Entries {
    fn new(mut entries: Vec<(usize, WeakRef)>) -> Self {
        entries.sort_unstable_by_key(|(id, _)| *id);
        let (ids, objects) = entries.into_iter().unzip();
        Self { ids, objects }
    }

    fn has(&self, id: jobjectID) -> bool {
        self.ids.binary_search(&id.addr()).is_ok()
    }

    fn object(&self, jni: Jni, id: jobjectID) -> Option<jobject> {
        let at = self.ids.binary_search(&id.addr()).ok()?;
        let object = self.objects[at].get(jni)?;
        // The object may have got another ID since.
        (tagging::tag(object).map(Tag::id) == Ok(id)).then_some(object)
    }
}

/// A batch of objects that are found when one of them is asked for.
struct Others {
    /// Their tags in the order of their IDs; at least one.
    tags: Vec<jlong>,
    found: Memo<Entries>,
}

/// How many objects are found at a time: JVMTI compares each tag in use with each that is asked for, and
/// a few hundred comparisons take no longer than reading the next tag in use.
const AT_A_TIME: usize = 1024;

impl Others {
    fn first(&self) -> jobjectID {
        Tag::from_raw(self.tags[0]).id()
    }

    fn object(&self, jni: Jni, id: jobjectID) -> Option<jobject> {
        let ids = |tag: &jlong| Tag::from_raw(*tag).id().cmp(&id);
        self.tags.binary_search_by(ids).ok()?;
        self.found.get_or_find(|| self.find(jni)).object(jni, id)
    }

    fn find(&self, jni: Jni) -> Entries {
        jni.frame(LARGE_FRAME, |jni| {
            let found = jvm::get().jvmti.all_tagged(&self.tags).unwrap_or_default();
            let entry = |(object, tag): (jobject, jlong)| {
                (Tag::from_raw(tag).id().addr(), WeakRef::new(jni, object))
            };
            Entries::new(found.into_iter().map(entry).collect())
        })
    }
}

/// The right to make a table, which one thread has at a time.
struct Turn(());

static BEING_MADE: AtomicBool = AtomicBool::new(false);

impl Turn {
    fn take() -> Option<Self> {
        (!BEING_MADE.swap(true, Ordering::Acquire)).then(|| Self(()))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        BEING_MADE.store(false, Ordering::Release);
    }
}

/// Makes the table, unless another thread is just doing that.
fn make_table(jni: Jni) -> Option<Arc<Table>> {
    let _turn = Turn::take()?;
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
    fn new(jni: Jni) -> Result<Self> {
        let met = Entries::new(meet(jni)?);
        let mut others = Vec::new();
        let visit = |_class, raw: &mut jlong, _size| {
            let id = Tag::from_raw(*raw).id();
            if !id.is_null() && !met.has(id) {
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

/// How many objects get the same tag. So many local references at a time cost little.
const GROUP: usize = 4096;

/// In how many parts the objects are found by their tags, at most: each part takes a look at all tags,
/// and a single one would take a local reference to each object.
const PARTS: usize = 16;

/// The number of groups in a part, at least. Each part looks at all tags; with `-Xcheck:jni` HotSpot looks at all local
/// references for each new weak one, so there must not be too many.
const GROUPS: usize = 4;

/// The objects that a walk along references meets and that have an ID, with their IDs.
///
/// Only GetObjectsWithTags makes references to many objects, in time proportional also to the tags that
/// it is asked for. So for a while the objects get tags that they share, in an environment made for it.
fn meet(jni: Jni) -> Result<Vec<(usize, WeakRef)>> {
    let env = jvm::get().lookup_env;
    // The walk finds the dead of all environments, and reports them to this one.
    env.set_notification(JVMTI_EVENT_OBJECT_FREE, true)?;
    let mut groups = Groups::default();
    deaths::during_walk(|| env.follow_references(None, &mut groups))?;
    let tags: Vec<_> = (0..groups.count.div_ceil(GROUP)).map(group_tag).collect();
    let mut objects = Vec::with_capacity(groups.count);
    for part in tags.chunks(tags.len().div_ceil(PARTS).max(GROUPS)) {
        jni.frame(LARGE_FRAME, |jni| -> Result<()> {
            for (object, _) in env.all_tagged(part)? {
                env.set_tag(object, 0)?;
                let id = tagging::tag(object)?.id().addr();
                if id != 0 {
                    objects.push((id, WeakRef::new(jni, object)));
                }
            }
            Ok(())
        })?;
    }
    Ok(objects)
}

/// A small number, which is of no [kind](crate::records::tags): such deaths need no report.
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
