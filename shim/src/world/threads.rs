//! Threads. A thread's ID is its `JNIEnv *`; what happens in a virtual thread belongs to the
//! carrier whose environment it runs in.

mod current;
pub mod os_thread;

pub use os_thread::os_thread;

use super::agents::{Agent, MAX_AGENTS};
use super::calls::Calls;
use super::construction::Held;
use super::loaded::Loaded;
use super::order::aim::Aim;
use super::order::announced::Announced;
use super::order::in_flight::InFlight;
use super::order::{claims, epoch};
use super::suspension::Stop;
use super::waits::Waits;
use super::{ids, tagging};
use crate::jvm::{self, FieldId, GlobalRef, Jni, MethodId};
use crate::lock::{Lock, Map, Memo};
use jni_sys::{JNIEnv, jint, jobject};
use jvmpi_sys::jobjectID;
use jvmti_sys::JVMTI_THREAD_STATE_ALIVE;
use std::cell::RefCell;
use std::ffi::{CStr, c_void};
use std::ops::Deref;
use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering,
};
use std::sync::{Arc, LazyLock};
use std::{ptr, slice};

/// What the shim knows of one thread. No two threads share a cache line: each writes its own at every
/// event.
#[repr(align(128))]
pub struct Thread {
    env: *mut JNIEnv,
    /// The number by which the system knows the thread, 0 as long as it has not been seen to run.
    os_thread: AtomicI32,
    object: Lock<Option<Arc<GlobalRef>>>,
    id: AtomicPtr<jvmpi_sys::_jobjectID>,
    local_storage: [AtomicPtr<c_void>; MAX_AGENTS],
    ended: AtomicBool,
    hidden: AtomicBool,
    /// Who has had THREAD_START.
    pub announced: Announced,
    /// The events that are being delivered on the thread.
    pub in_flight: InFlight,
    /// The object of the event that is being delivered on the thread.
    pub subject: Subject,
    /// What the thread has allocated without running a constructor.
    pub unconstructed: Unconstructed,
    /// The IDs for what the thread allocates.
    pub new_ids: ids::Supply,
    /// The classes that the thread has loaded and agents have perhaps not heard of.
    pub loaded: Loaded,
    /// The calls that agents have heard of and that are not over.
    pub calls: Calls,
    /// The constructors that nobody has been told of yet.
    pub held: Held,
    /// The epoch in which it was found that agents may get the thread's events.
    pub examined_in: AtomicU64,
    /// What the thread waits for at Java monitors.
    pub waits: Waits,
    /// For whom or what the thread waits just now.
    pub waits_for: Aim,
    /// What the thread does at a raw monitor: a `JVMPI_THREAD_…`, 0 if it waits at none.
    at_raw_monitor: AtomicI32,
    /// The environment in whose name agents are called on a thread of the shim's own.
    stands_for: AtomicPtr<JNIEnv>,
    /// How deep the thread is in work that the shim does in Java.
    quiet: AtomicU32,
    /// Whether what the thread allocates is garbage of the shim's own.
    wastes: AtomicBool,
    in_transition: AtomicBool,
    /// Whether the virtual thread that is being put on the thread waited for a monitor.
    resumes: AtomicBool,
    /// Whether an agent has suspended the thread, and how.
    pub stop: Stop,
}

// SAFETY: the environment is only an identity here; the other fields are safe to share.
unsafe impl Send for Thread {}
// SAFETY: as above.
unsafe impl Sync for Thread {}

/// Live threads by the address of their environment.
static BY_ENV: LazyLock<Map<usize, Arc<Thread>>> = LazyLock::new(Map::new);
/// The ID of the `java.lang.Thread` object by the environment of the thread that ended there last. For
/// a while the object still leads to the environment.
static ENDED: LazyLock<Map<usize, usize>> = LazyLock::new(Map::new);
/// The environments of threads whose `java.lang.Thread` object has an ID, by that ID.
static BY_ID: LazyLock<Map<usize, usize>> = LazyLock::new(Map::new);

thread_local! {
    /// Keeps the record of the thread that runs, to which [`current`](mod@current) points.
    static OWNER: Owner = const { Owner(RefCell::new(None)) };
}

struct Owner(RefCell<Option<Arc<Thread>>>);

impl Owner {
    fn set(&self, thread: Option<Arc<Thread>>) {
        current::set(thread.as_ref().map_or(ptr::null(), Arc::as_ptr));
        self.0.replace(thread);
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        current::set(ptr::null::<Thread>());
    }
}

/// The record of the thread that runs; it cannot leave that thread.
pub struct Current(*const Thread);

impl Deref for Current {
    type Target = Thread;

    #[inline]
    fn deref(&self) -> &Thread {
        // SAFETY: `OWNER` of this thread keeps the record until it is replaced, which happens
        // only when the thread has ended for the VM and is attached anew.
        unsafe { &*self.0 }
    }
}

/// The environment of the thread that runs as far as it is known already, else NULL.
pub fn known_current_env() -> *mut JNIEnv {
    known_current().map_or(ptr::null_mut(), |thread| thread.env)
}

/// The record of the thread that runs, if it was seen before. A signal handler may ask: the storage
/// of a thread whose number the shim knows has been used before, so that looking allocates nothing.
#[inline]
pub fn known_current() -> Option<Current> {
    let thread = current::get::<Thread>();
    (!thread.is_null()).then_some(Current(thread))
}

/// The record of the thread that runs, if it is attached to the VM.
pub fn try_current() -> Option<Current> {
    known_current().or_else(|| jvm::try_get()?.jni().map(current))
}

/// The thread that runs and its JNI, if it is attached to the VM.
pub fn current_attached() -> Option<(Jni, Current)> {
    let jni = jvm::try_get()?.jni()?;
    Some((jni, current(jni)))
}

/// The record of the thread that runs; a new one if it was never seen before.
pub fn current(jni: Jni) -> Current {
    match known_current() {
        Some(thread) if thread.env == jni.env() => thread,
        _ => adopt(jni),
    }
}

/// Makes the record for this environment the one of the thread that runs.
#[cold]
fn adopt(jni: Jni) -> Current {
    let mut thread = record(jni.env());
    if is_anothers(jni, &thread) {
        forget(&thread);
        thread = record(jni.env());
    }
    thread.os_thread.store(os_thread(), Ordering::Relaxed);
    let current = Current(Arc::as_ptr(&thread));
    own(Some(thread));
    if current.object().is_none() {
        jni.frame(8, |jni| {
            let object = carrier(jni);
            // Not while the thread is being attached: the object is then just being constructed,
            // which is reported like that of any other.
            if is_alive(object) {
                current.learn_object(jni, object);
            }
        });
    }
    current
}

/// Whether the record is that of a thread which had the same environment before the one that runs, and
/// which somebody has looked at while it ended.
fn is_anothers(jni: Jni, thread: &Thread) -> bool {
    let Some(known) = thread.object().filter(|_| native_threads().is_some()) else { return false };
    jni.frame(4, |jni| {
        let object = jvm::get().jvmti.current_thread().unwrap_or(ptr::null_mut());
        // A virtual thread says nothing of its carrier.
        !object.is_null()
            && native_thread(jni, object) != 0
            && !jni.same_object(known.get(), object)
    })
}

/// Makes this the record of the thread that runs. A thread that runs agents' code so late that
/// its own storage is gone leaks its record.
fn own(thread: Option<Arc<Thread>>) {
    let mut thread = Some(thread);
    if OWNER.try_with(|owner| owner.set(thread.take().flatten())).is_err() {
        std::mem::forget(thread);
    }
}

/// The live record for this environment, a new one if there is none.
fn record(env: *mut JNIEnv) -> Arc<Thread> {
    let known = BY_ENV.get(env.addr());
    known.unwrap_or_else(|| BY_ENV.get_or_insert(env.addr(), Arc::new(Thread::new(env))))
}

/// The `java.lang.Thread` of the platform thread that runs; NULL while it is being attached.
fn carrier(jni: Jni) -> jobject {
    let thread = jvm::get().jvmti.current_thread().unwrap_or(ptr::null_mut());
    if thread.is_null() || native_thread(jni, thread) != 0 {
        return thread;
    }
    // A virtual thread is mounted.
    jni.find_class(c"java/lang/Thread")
        .and_then(|class| {
            let method =
                jni.static_method(class, c"currentCarrierThread", c"()Ljava/lang/Thread;")?;
            jni.call_static_object(class, method, &[])
        })
        .unwrap_or(thread)
}

fn is_alive(thread: jobject) -> bool {
    let state = jvm::get().jvmti.thread_state(thread);
    !thread.is_null() && state.is_ok_and(|state| state & JVMTI_THREAD_STATE_ALIVE as jint != 0)
}

/// Called when the VM says that the thread that runs has started.
pub fn started(jni: Jni) -> Current {
    if let Some(thread) = known_current()
        && (thread.has_ended() || is_anothers(jni, &thread))
    {
        forget(&thread);
        own(None);
    }
    let thread = current(jni);
    if thread.object().is_none() {
        jni.frame(8, |jni| thread.learn_object(jni, carrier(jni)));
    }
    thread
}

/// Called when the VM says that the thread that runs has ended, after agents were told.
///
/// The record stays with the thread, as ended, so that nothing more is reported of it. A thread that
/// is suspended does not end before it has been resumed, which takes that it can be found.
pub fn ended(thread: &Thread) {
    {
        let _claim = claims::to_resume();
        thread.ended.store(true, Ordering::Release);
    }
    thread.must_be_examined();
    ENDED.insert(thread.env.addr(), thread.id().addr());
    forget(thread);
}

/// Nobody finds the record any more.
fn forget(thread: &Thread) {
    BY_ENV.remove_if(thread.env.addr(), |known| ptr::eq(Arc::as_ptr(known), thread));
    BY_ID.remove_if(thread.id().addr(), |env| *env == thread.env.addr());
    // The reference is given back outside the lock.
    let object = thread.object.lock().take();
    drop(object);
}

/// Runs `f` on the live thread with this environment; None for NULL, garbage and threads that
/// have ended. Costs no more than a comparison if that is the thread that runs.
pub fn with_env<R>(env: *mut JNIEnv, f: impl FnOnce(&Thread) -> R) -> Option<R> {
    if env == known_current_env() && !env.is_null() {
        return try_current().filter(|thread| !thread.has_ended()).map(|thread| f(&thread));
    }
    if let Some(thread) = by_env(env) {
        return (!thread.is_hidden()).then(|| f(&thread));
    }
    // The thread that runs may never have been seen.
    let (_, thread) = current_attached().filter(|(jni, _)| jni.env() == env)?;
    (!thread.has_ended()).then(|| f(&thread))
}

/// The live thread with this environment; None for NULL, garbage and threads that have ended.
pub fn by_env(env: *mut JNIEnv) -> Option<Arc<Thread>> {
    if env.is_null() {
        return None;
    }
    BY_ENV.get(env.addr())
}

/// The live thread that the system knows by this number, if it has been seen to run.
pub fn by_os_thread(number: i32) -> Option<Arc<Thread>> {
    all().into_iter().find(|thread| thread.os_thread() == number)
}

/// The live thread whose `java.lang.Thread` object has this ID.
pub fn by_id(id: jobjectID) -> Option<Arc<Thread>> {
    BY_ENV.get(BY_ID.get(id.addr())?)
}

/// A live thread that the agent has heard of: rather one for which it keeps data, and of those
/// one that will not end, as the VM's own threads that have never run any of the shim's code.
pub fn known_to(agent: &Agent) -> Option<Arc<Thread>> {
    let knows = |thread: &Arc<Thread>| {
        !thread.is_hidden()
            && (thread.announced.to(agent) || !agent.wants(jvmpi_sys::JVMPI_EVENT_THREAD_START))
    };
    let rank = |thread: &Arc<Thread>| {
        let has_data = !thread.local_storage(agent).is_null();
        (!has_data, thread.os_thread() != 0, thread.id().addr())
    };
    all().into_iter().filter(knows).min_by_key(rank)
}

/// All live threads that are known.
pub fn all() -> Vec<Arc<Thread>> {
    BY_ENV.values()
}

/// The record of the live platform thread that this `java.lang.Thread` stands for, although it
/// may never have run any of the shim's code. None if it has ended, has not started or is virtual.
pub fn discover(jni: Jni, object: jobject) -> Option<Arc<Thread>> {
    let id = tagging::id_of(object).ok()?;
    if let Some(thread) = by_id(id) {
        return Some(thread);
    }
    let is_thread = |jni: Jni| {
        jni.find_class(c"java/lang/Thread").is_some_and(|class| jni.instance_of(object, class))
    };
    if !jni.frame(4, is_thread) {
        return None;
    }
    let native = native_thread(jni, object);
    let distance = native_threads()?.env_distance;
    if native == 0 {
        return None;
    }
    let env = native.wrapping_add(distance);
    let has_ended = || ENDED.get(env) == Some(id.addr());
    if has_ended() {
        return None;
    }
    let thread = record(ptr::without_provenance_mut(env));
    thread.learn_object(jni, object);
    if thread.id() != id {
        return None;
    }
    if native_thread(jni, object) != native || has_ended() {
        // It has ended meanwhile, and nobody else will say so.
        forget(&thread);
        return None;
    }
    Some(thread)
}

/// Starts a daemon thread of the shim's own, of which agents never hear.
pub fn start_hidden(
    jni: Jni,
    name: &CStr,
    run: impl FnOnce(Jni) + Send + 'static,
) -> jvm::Result<()> {
    quietly(jni, || jvm::start_thread(jni, name, NORMAL_PRIORITY, hide, run))
}

/// Makes the object one of the shim's own, and so the thread that will run it.
pub fn hide(object: jobject) -> jvm::Result<()> {
    let id = tagging::id_of(object)?;
    HIDDEN.insert(id.addr(), ());
    Ok(())
}

/// The IDs of the shim's own threads, and of other objects that it keeps.
static HIDDEN: LazyLock<Map<usize, ()>> = LazyLock::new(Map::new);

const NORMAL_PRIORITY: jint = 5;

/// Runs Java code on the shim's behalf: agents hear of nothing that it does.
pub fn quietly<R>(jni: Jni, work: impl FnOnce() -> R) -> R {
    let thread = current(jni);
    let _quiet = Quiet::begin(&thread);
    work()
}

/// The thread works for the shim until this is dropped.
struct Quiet<'a>(&'a Thread);

impl<'a> Quiet<'a> {
    fn begin(thread: &'a Thread) -> Self {
        thread.quiet.fetch_add(1, Ordering::Relaxed);
        thread.must_be_examined();
        Self(thread)
    }
}

impl Drop for Quiet<'_> {
    fn drop(&mut self) {
        self.0.quiet.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The IDs of the objects that the shim keeps for itself, its own threads among them.
pub fn hidden_objects() -> Vec<usize> {
    HIDDEN.keys()
}

/// Whether the thread that runs owns the object's monitor.
pub fn holds_lock(jni: Jni, object: jobject) -> bool {
    static HOLDS_LOCK: Memo<Option<(GlobalRef, MethodId)>> = Memo::new();
    let method = HOLDS_LOCK.get_or_find(|| {
        jni.frame(4, |jni| {
            let class = jni.find_class(c"java/lang/Thread")?;
            let method = jni.static_method(class, c"holdsLock", c"(Ljava/lang/Object;)Z")?;
            Some((GlobalRef::new(jni, class)?, method))
        })
    });
    let Some((class, method)) = method else { return false };
    jni.call_static_boolean(class.get(), *method, object)
}

/// Whether the object is one that the shim keeps for itself.
pub fn is_hidden_object(id: jobjectID) -> bool {
    HIDDEN.contains(id.addr())
}

/// How the VM's own thread structures are found from `java.lang.Thread` objects: the private
/// field `eetop` holds the structure's address, and the JNIEnv lies at a fixed distance from it.
/// JVMTI has no way from a thread object to its JNIEnv.
struct NativeThreads {
    field: FieldId,
    env_distance: usize,
}

static NATIVE_THREADS: Memo<Option<NativeThreads>> = Memo::new();

fn native_threads() -> Option<&'static NativeThreads> {
    NATIVE_THREADS.get()?.as_ref()
}

/// Finds out where environments are, from the platform thread that runs.
pub fn locate_environments(jni: Jni) {
    NATIVE_THREADS.get_or_find(|| {
        jni.frame(8, |jni| {
            let field = jni.field(jni.find_class(c"java/lang/Thread")?, c"eetop", c"J")?;
            let native = jni.long_field(jvm::get().jvmti.current_thread().ok()?, field);
            (native != 0).then(|| NativeThreads {
                field,
                env_distance: jni.env().addr().wrapping_sub(native as usize),
            })
        })
    });
}

/// The address of the VM's structure; 0 for a virtual thread and one that is not alive, and a
/// number other than 0 where that cannot be known.
fn native_thread(jni: Jni, thread: jobject) -> usize {
    native_threads().map_or(usize::MAX, |n| jni.long_field(thread, n.field) as usize)
}

/// Does something when it is dropped, also by a panic.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// How many objects a thread has allocated and reported without running a constructor, which may
/// still come and must not report them again. Only the thread itself uses this.
#[derive(Default)]
pub struct Unconstructed(AtomicU32);

impl Unconstructed {
    pub fn add(&self) {
        self.0.store(self.0.load(Ordering::Relaxed).saturating_add(1), Ordering::Relaxed);
    }

    /// Whether the object that is being constructed is one of them. Costs nothing if there are
    /// none; else `is_known` says whether it was reported before.
    pub fn is_one(&self, is_known: impl FnOnce() -> bool) -> bool {
        let count = self.0.load(Ordering::Relaxed);
        let is_one = count > 0 && is_known();
        if is_one {
            self.0.store(count - 1, Ordering::Relaxed);
        }
        is_one
    }
}

/// The object that the event being delivered on a thread is about, and where it is: agents ask
/// for it in the event. Only the thread itself uses this.
#[derive(Default)]
pub struct Subject {
    id: AtomicPtr<jvmpi_sys::_jobjectID>,
    object: AtomicPtr<jni_sys::_jobject>,
}

impl Subject {
    /// Runs `event` with the object, which lives until it returns, as its subject.
    pub fn with<R>(&self, id: jobjectID, object: jobject, event: impl FnOnce() -> R) -> R {
        let (outer_id, outer_object) =
            (self.id.load(Ordering::Relaxed), self.object.load(Ordering::Relaxed));
        let _outer = Outer { subject: self, id: outer_id, object: outer_object };
        self.set(id, object);
        event()
    }

    fn set(&self, id: jobjectID, object: jobject) {
        self.id.store(id, Ordering::Relaxed);
        self.object.store(object, Ordering::Relaxed);
    }

    /// The object, if the ID is that of the subject.
    pub fn object(&self, id: jobjectID) -> Option<jobject> {
        (self.id.load(Ordering::Relaxed) == id).then(|| self.object.load(Ordering::Relaxed))
    }
}

/// What the subject was before the event, and is again when this is dropped.
struct Outer<'a> {
    subject: &'a Subject,
    id: jobjectID,
    object: jobject,
}

impl Drop for Outer<'_> {
    fn drop(&mut self) {
        self.subject.set(self.id, self.object);
    }
}

impl Thread {
    fn new(env: *mut JNIEnv) -> Self {
        Self {
            env,
            os_thread: AtomicI32::new(0),
            object: Lock::default(),
            id: AtomicPtr::new(ptr::null_mut()),
            local_storage: Default::default(),
            ended: AtomicBool::new(false),
            hidden: AtomicBool::new(false),
            announced: Announced::default(),
            in_flight: InFlight::default(),
            subject: Subject::default(),
            unconstructed: Unconstructed::default(),
            new_ids: ids::Supply::default(),
            loaded: Loaded::default(),
            calls: Calls::default(),
            held: Held::default(),
            examined_in: AtomicU64::new(epoch::NONE),
            waits: Waits::default(),
            waits_for: Aim::default(),
            at_raw_monitor: AtomicI32::new(0),
            stands_for: AtomicPtr::new(ptr::null_mut()),
            quiet: AtomicU32::new(0),
            wastes: AtomicBool::new(false),
            in_transition: AtomicBool::new(false),
            resumes: AtomicBool::new(false),
            stop: Stop::default(),
        }
    }

    /// The thread's ID.
    pub fn env(&self) -> *mut JNIEnv {
        self.env
    }

    /// The number by which the system knows the thread, 0 as long as it has not been seen to run.
    pub fn os_thread(&self) -> i32 {
        self.os_thread.load(Ordering::Relaxed)
    }

    /// The ID of the thread's object, NULL while that is not known.
    pub fn id(&self) -> jobjectID {
        self.id.load(Ordering::Acquire)
    }

    /// Runs `f` with the words of the VM's structure for the thread that lie before its environment;
    /// the thread itself uses them meanwhile. None if it has ended, or if they cannot be found. `f`
    /// must not call the VM.
    pub fn with_structure<R>(&self, f: impl FnOnce(&[AtomicUsize]) -> R) -> Option<R> {
        let distance = native_threads()?.env_distance;
        // `ended` takes the object away, before which the VM does not free the structure.
        let object = self.object.lock();
        if object.is_none() || distance % size_of::<usize>() != 0 {
            return None;
        }
        let first = self.env.wrapping_byte_sub(distance).cast::<AtomicUsize>();
        // SAFETY: the environment is a member of the structure, which lives and is aligned.
        let words = unsafe { slice::from_raw_parts(first, distance / size_of::<usize>()) };
        Some(f(words))
    }

    /// The thread's `java.lang.Thread`, None before it is known and after the end.
    pub fn object(&self) -> Option<Arc<GlobalRef>> {
        self.object.lock().clone()
    }

    fn learn_object(&self, jni: Jni, object: jobject) {
        let Some(reference) = GlobalRef::new(jni, object) else { return };
        let Ok(id) = tagging::id_of(object) else { return };
        let reference = Arc::new(reference);
        // A reference that is not needed is given back outside the lock.
        let known = Arc::clone(self.object.lock().get_or_insert_with(|| Arc::clone(&reference)));
        if !jni.same_object(known.get(), object) {
            // The environment is another thread's by now.
            return;
        }
        self.hidden.store(HIDDEN.contains(id.addr()), Ordering::Release);
        self.must_be_examined();
        self.id.store(id, Ordering::Release);
        BY_ID.insert(id.addr(), self.env.addr());
    }

    /// Whether THREAD_END is over.
    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Whether the thread is one of the shim's own.
    pub fn is_hidden(&self) -> bool {
        self.hidden.load(Ordering::Acquire)
    }

    /// The thread's ID as agents are to see it: on a thread of the shim's own that of the one for
    /// which it stands, NULL if it stands for none.
    pub fn env_for_agents(&self) -> *mut JNIEnv {
        if self.is_hidden() { self.stands_for.load(Ordering::Relaxed) } else { self.env }
    }

    /// Runs `work`, in which a thread of the shim's own stands for another.
    pub fn standing_for<R>(&self, env: *mut JNIEnv, work: impl FnOnce() -> R) -> R {
        let outer = self.stands_for.swap(env, Ordering::Relaxed);
        let _after = OnDrop(|| self.stands_for.store(outer, Ordering::Relaxed));
        work()
    }

    /// Runs `wait`, during which the thread has this status because it waits at a raw monitor.
    pub fn at_raw_monitor<R>(&self, status: jint, wait: impl FnOnce() -> R) -> R {
        self.at_raw_monitor.store(status, Ordering::Release);
        let _after = OnDrop(|| self.at_raw_monitor.store(0, Ordering::Release));
        wait()
    }

    /// The `JVMPI_THREAD_…` of a thread that waits at a raw monitor.
    pub fn status_at_raw_monitor(&self) -> Option<jint> {
        Some(self.at_raw_monitor.load(Ordering::Acquire)).filter(|status| *status != 0)
    }

    /// Whether what the thread does now is the shim's doing, of which agents hear nothing.
    pub fn is_quiet(&self) -> bool {
        self.is_hidden() || self.quiet.load(Ordering::Relaxed) > 0
    }

    /// Runs `work`, of which no object lives on, so that none needs to be known.
    pub fn wasting<R>(&self, work: impl FnOnce() -> R) -> R {
        let outer = self.wastes.swap(true, Ordering::Relaxed);
        let _after = OnDrop(|| self.wastes.store(outer, Ordering::Relaxed));
        work()
    }

    /// Whether what the thread allocates now is garbage of the shim's own.
    pub fn is_wasting(&self) -> bool {
        self.wastes.load(Ordering::Relaxed)
    }

    /// Whether a virtual thread is just being put on the thread or taken off.
    pub fn is_in_transition(&self) -> bool {
        self.in_transition.load(Ordering::Relaxed)
    }

    /// Takes note that a virtual thread is being put on the thread or taken off, or has been.
    pub fn note_transition(&self, begins: bool) {
        self.in_transition.store(begins, Ordering::Relaxed);
        self.calls.set_aside();
        // Whoever is held here was left by an exception.
        self.held.take();
        self.must_be_examined();
    }

    /// Takes note that a virtual thread is about to be put on the thread which waited for a monitor,
    /// or that a virtual thread goes on now: if it is that one, nobody will tell that it is there.
    pub fn note_resumption(&self, begins: bool) {
        if self.resumes.swap(begins, Ordering::Relaxed) {
            self.note_transition(false);
        }
    }

    /// Takes note that agents may get the thread's events in this epoch.
    pub fn was_examined(&self, epoch: u64) {
        self.examined_in.store(epoch, Ordering::Relaxed);
    }

    /// Takes note that something has changed for the thread alone.
    pub fn must_be_examined(&self) {
        self.examined_in.store(epoch::NONE, Ordering::Relaxed);
    }

    /// The agent's thread-local storage, NULL until it is set.
    pub fn local_storage(&self, agent: &Agent) -> *mut c_void {
        self.local_storage[agent.index].load(Ordering::Acquire)
    }

    pub fn set_local_storage(&self, agent: &Agent, value: *mut c_void) {
        self.local_storage[agent.index].store(value, Ordering::Release);
    }
}

/// Makes the thread that runs one with this environment, as if it were attached to a VM.
#[cfg(test)]
pub fn adopt_for_test(env: usize) -> Current {
    let thread = record(ptr::without_provenance_mut(env));
    thread.os_thread.store(os_thread(), Ordering::Relaxed);
    let current = Current(Arc::as_ptr(&thread));
    own(Some(thread));
    current
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boundary::guard;
    use crate::world::order::in_flight::Report;

    #[test]
    fn a_panic_leaves_the_subject_and_the_events_as_they_were() {
        let thread = Thread::new(ptr::null_mut());
        let numbered =
            |number| (ptr::without_provenance_mut(number), ptr::without_provenance_mut(number));
        let (id, object) = numbered(16);
        thread.subject.with(id, object, || {
            let _event = thread.in_flight.enter();
            guard((), || {
                let _quiet = Quiet::begin(&thread);
                let (id, object) = numbered(32);
                let _inner = thread.in_flight.enter();
                thread.subject.with(id, object, || {
                    thread.in_flight.while_tracking(|| panic!("in the event"));
                });
            });
            assert!(!thread.is_quiet() && thread.subject.object(id) == Some(object));
            assert!(thread.in_flight.report() == Report::None);
        });
        assert!(thread.subject.object(id).is_none() && !thread.in_flight.is_any());
    }
}
