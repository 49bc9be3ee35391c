//! Finding objects by their IDs.
//!
//! JVMTI finds objects by their tags in time proportional to all tags that are in use. Agents ask for
//! one object after the other, for all that a dump names, say. So when some have been searched for in
//! that way, a table of all objects is made, which is kept until the agents let IDs die again.

use super::ids::Tag;
use super::order::gate;
use super::{classes, cpu_clock, ids, phase, tagging, threads};
use crate::jvm::heap::{Edge, Next, Object, Referrer, Visitor};
use crate::jvm::{self, Jni, LARGE_FRAME, Result, WeakRef};
use crate::lock::{Lock, Memo};
use crate::world::order::deaths;
use crate::world::threads::registry;
use jni_sys::{jint, jlong, jobject};
use jvmpi_sys::jobjectID;
use jvmti_sys::{JVMTI_EVENT_OBJECT_FREE, JVMTI_HEAP_FILTER_UNTAGGED};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How many searches take about as long as making the table (measured: 25 to 60). So what is looked
/// for never takes more than twice as long as it would with whatever of the two is quicker.
const SEARCHES: u32 = 32;

/// How much processor time searching may take before somebody is told: a program that stops for that
/// long makes people wonder what it does.
const LONG: Duration = Duration::from_secs(3);

struct State {
    table: Option<Arc<Table>>,
    /// How many searches there were since the table was made, or there was none.
    searches: u32,
    /// At how many a new one is made.
    patience: u32,
    /// The processor time that searches, and making tables, have taken since the VM began.
    taken: Duration,
}

static STATE: Lock<State> =
    Lock::new(State { table: None, searches: 0, patience: SEARCHES, taken: Duration::ZERO });

/// The object with this ID, in the current frame; None if there is none such or it is gone.
///
/// Fast for classes, threads and the object of the event that the thread is in; others are looked for.
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

/// Counts a search; whether it is time to make a table.
fn is_table_due() -> bool {
    let mut state = STATE.lock();
    state.searches += 1;
    let is_due = state.searches > state.patience;
    if is_due {
        state.searches = 0;
        // If that does not help, others will not either.
        state.patience = state.patience.saturating_mul(2);
    }
    is_due
}

/// A run of requests: while it lasts, IDs do not die, and what was found is kept.
pub struct Run(());

impl Run {
    pub fn begin() -> Self {
        Self(())
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        end_run();
    }
}

/// Drops what was found, unless IDs do not die anyway. Only a thread that the VM knows can give
/// references back.
pub fn end_run() {
    let can_drop = || phase::vm_answers() && jvm::get().jni().is_some();
    if gate::gc_is_disabled() || !can_drop() {
        return;
    }
    let mut state = STATE.lock();
    state.searches = 0;
    state.patience = SEARCHES;
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

/// All objects that had an ID when it was made.
struct Table {
    /// Those that a walk along references has met.
    met: Entries,
    /// All others: garbage, and what nothing but native code refers to. They are found as many at a
    /// time as take about as long as one.
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
        // It may have got another one since.
        (tagging::tag(object).map(Tag::id) == Ok(id)).then_some(object)
    }
}

/// Some objects that are found when one of them is asked for.
struct Others {
    /// Their tags in the order of their IDs; there is at least one.
    tags: Vec<jlong>,
    found: Memo<Entries>,
}

/// How many objects are found at a time: JVMTI compares each tag that is in use with each that it is
/// asked for, of which a few hundred take no longer than getting at the next one that is in use.
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

/// One thread at a time makes a table.
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

/// How many objects get the same tag. As many references at a time are of no weight.
const GROUP: usize = 4096;

/// In how many parts the objects are found by their tags, at most: each takes a look at all tags, and
/// all at once would be a local reference to each object.
const PARTS: usize = 16;

/// The objects that a walk along references meets and that have an ID, with their IDs.
///
/// No other function of JVMTI makes references to many objects than the one that finds them by their
/// tags, which takes time in proportion to the tags that it is asked for, too. So for a while they
/// get tags that they share, in an environment of their own.
fn meet(jni: Jni) -> Result<Vec<(usize, WeakRef)>> {
    let env = jvm::get().lookup_env;
    // The walk finds the dead of all environments, and reports them to this one.
    env.set_notification(JVMTI_EVENT_OBJECT_FREE, true)?;
    let mut groups = Groups::default();
    deaths::during_walk(|| env.follow_references(None, &mut groups))?;
    let tags: Vec<_> = (0..groups.count.div_ceil(GROUP)).map(group_tag).collect();
    let mut objects = Vec::with_capacity(groups.count);
    for part in tags.chunks(tags.len().div_ceil(PARTS).max(1)) {
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

/// A small number, which is no [kind](super::tags) of tag: nobody needs to hear of such a death.
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
