//! The record of one thread, with the state that has no file of its own, and the record of the current thread.

use super::agents::{Agent, MAX_AGENTS};
use super::announced::Announced;
use super::class::Loaded;
use super::construction::{Held, Unconstructed};
use super::ids;
use super::in_flight::{CurrentObject, InFlight, ShortCut};
use super::receivers::Receivers;
use super::sample::Sample;
use super::suspension::Suspension;
use super::virtual_thread::{self, Consumed, Transition, VirtualThread};
use super::waits::{JniMonitors, Waits};
use jni_sys::{JNIEnv, jint};
use jvm::GlobalRef;
use jvm::boundary::OnDrop;
use jvm::lock::Lock;
use jvm::platform::sync::atomic::{
    AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicUsize, Ordering,
};
use jvm::platform::sync::thread_local;
use jvm::platform::thread_local_word;
use jvmpi_sys::jobjectID;
use std::cell::RefCell;
use std::ffi::c_void;
use std::ops::Deref;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;

/// The record of a thread. No two records share a cache line, because each thread writes its own at every event. What
/// an event reads that takes the short cut comes first.
#[repr(C, align(128))]
pub struct Thread {
    env: *mut JNIEnv,
    /// What the thread's events need to take the short cut.
    pub short_cut: ShortCut,
    /// The events in flight on the thread, and its open calls.
    pub in_flight: InFlight,
    /// The VM's environment that the thread's code gets: its own, or the carrier's for a virtual thread. NULL for
    /// a virtual thread on no carrier.
    pub runs_in: AtomicPtr<JNIEnv>,
    /// The state that only a virtual thread has.
    pub as_virtual: Option<VirtualThread>,
    /// The kernel's thread ID. It is 0 until the thread runs code of the shim, and while no OS thread runs it
    /// ([`Self::is_displaced`]).
    pub os_thread: AtomicI32,
    /// The CPU time that it has used.
    pub consumed: Consumed,
    pub object: Lock<Option<Arc<GlobalRef>>>,
    pub id: AtomicPtr<jvmpi_sys::_jobjectID>,
    local_storage: [AtomicPtr<c_void>; MAX_AGENTS],
    pub ended: AtomicBool,
    pub hidden: AtomicBool,
    /// The agents that have got THREAD_START.
    pub announced: Announced,
    /// The object of the event in flight on the thread.
    pub current_object: CurrentObject,
    /// True if the VM reports the next object that the thread allocates, although reports are sampled now: the
    /// countdown began when the VM was to report every object.
    pub reports_at_once: AtomicBool,
    /// The number of objects that the thread has allocated without a constructor.
    pub unconstructed: Unconstructed,
    /// The IDs for the objects that the thread allocates.
    pub new_ids: ids::Supply,
    /// The classes that the thread has loaded and that may not be announced yet.
    pub loaded: Loaded,
    /// The constructors whose entry is deferred.
    pub held: Held,
    /// A cache of the IDs of receivers.
    pub receivers: Receivers,
    /// The waits of the thread at Java monitors.
    pub waits: Waits,
    /// The monitors that the thread has entered by JNI.
    pub jni_monitors: JniMonitors,
    /// The status while the thread waits at a raw monitor: one of `JVMPI_THREAD_…`, else 0.
    at_raw_monitor: AtomicI32,
    /// The thread for which this one delivers GC events, and its clock meanwhile.
    pub stand_in: StandIn,
    /// Counts the nested pieces of the shim's own work.
    pub own_work: OwnWork,
    /// Shows whether a virtual thread is being mounted or unmounted.
    pub transition: Transition,
    /// The suspension of the thread, with its suspender.
    pub suspension: Suspension,
    /// The call trace that the thread takes in its signal handler.
    pub sample: Sample,
}

/// The number of records.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Returns the number of records, including those that only their own threads still use.
pub fn count() -> usize {
    COUNT.load(Ordering::Relaxed)
}

impl Drop for Thread {
    fn drop(&mut self) {
        COUNT.fetch_sub(1, Ordering::Relaxed);
    }
}

// SAFETY: the environment is only an identity here; the other fields are safe to share.
unsafe impl Send for Thread {}
// SAFETY: as above.
unsafe impl Sync for Thread {}

impl Thread {
    pub fn new(env: *mut JNIEnv) -> Self {
        Self::of(env, env, None)
    }

    pub fn new_virtual(thread: VirtualThread) -> Self {
        Self::of(thread.env(), ptr::null_mut(), Some(thread))
    }

    fn of(env: *mut JNIEnv, runs_in: *mut JNIEnv, as_virtual: Option<VirtualThread>) -> Self {
        COUNT.fetch_add(1, Ordering::Relaxed);
        let consumed = match as_virtual {
            Some(_) => Consumed::of_virtual_thread(),
            None => Consumed::of_platform_thread(),
        };
        Self {
            env,
            short_cut: ShortCut::default(),
            in_flight: InFlight::default(),
            runs_in: AtomicPtr::new(runs_in),
            as_virtual,
            os_thread: AtomicI32::new(0),
            consumed,
            object: Lock::default(),
            id: AtomicPtr::new(ptr::null_mut()),
            local_storage: Default::default(),
            ended: AtomicBool::new(false),
            hidden: AtomicBool::new(false),
            announced: Announced::default(),
            current_object: CurrentObject::default(),
            reports_at_once: AtomicBool::new(false),
            unconstructed: Unconstructed::default(),
            new_ids: ids::Supply::default(),
            loaded: Loaded::default(),
            held: Held::default(),
            receivers: Receivers::default(),
            waits: Waits::default(),
            jni_monitors: JniMonitors::default(),
            at_raw_monitor: AtomicI32::new(0),
            stand_in: StandIn::default(),
            own_work: OwnWork::default(),
            transition: Transition::default(),
            suspension: Suspension::default(),
            sample: Sample::default(),
        }
    }

    /// Returns the thread's ID.
    pub fn env(&self) -> *mut JNIEnv {
        self.env
    }

    /// Returns true if code that runs in this environment is the thread's.
    #[inline]
    pub fn runs_in(&self, env: *mut JNIEnv) -> bool {
        self.runs_in.load(Ordering::Relaxed) == env
    }

    /// Returns the VM's environment in which the thread's code runs; NULL for a virtual thread on no carrier.
    pub fn vm_env(&self) -> *mut JNIEnv {
        self.runs_in.load(Ordering::Relaxed)
    }

    /// Returns true if no OS thread runs the thread: a virtual thread on no carrier, or a carrier that runs one.
    pub fn is_displaced(&self) -> bool {
        !self.consumed.is_running() || self.vm_env().is_null()
    }

    pub fn is_virtual(&self) -> bool {
        self.as_virtual.is_some()
    }

    /// Returns the kernel's thread ID. It is 0 until the thread runs code of the shim, and while no OS thread
    /// runs it ([`Self::is_displaced`]).
    pub fn os_thread(&self) -> i32 {
        self.os_thread.load(Ordering::SeqCst)
    }

    /// Returns the ID of the thread's object; NULL while it is unknown.
    pub fn id(&self) -> jobjectID {
        self.id.load(Ordering::Acquire)
    }

    /// Returns the thread's `java.lang.Thread`. None before it is known and after the thread's end.
    pub fn object(&self) -> Option<Arc<GlobalRef>> {
        self.object.lock().clone()
    }

    /// Returns true after THREAD_END.
    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Returns true for the shim's own threads.
    pub fn is_hidden(&self) -> bool {
        self.hidden.load(Ordering::Acquire)
    }

    /// Returns the thread's ID for agents. A hidden thread has the ID of the thread for which it stands, NULL if
    /// there is none.
    pub fn env_for_agents(&self) -> *mut JNIEnv {
        if self.is_hidden() { self.stand_in.env() } else { self.env }
    }

    /// Runs `wait`, during which the thread has this status because it waits at a raw monitor.
    pub fn at_raw_monitor<R>(&self, status: jint, wait: impl FnOnce() -> R) -> R {
        self.at_raw_monitor.store(status, Ordering::Release);
        let _after = OnDrop(|| self.at_raw_monitor.store(0, Ordering::Release));
        wait()
    }

    /// Returns the `JVMPI_THREAD_…` status of a thread that waits at a raw monitor.
    pub fn status_at_raw_monitor(&self) -> Option<jint> {
        Some(self.at_raw_monitor.load(Ordering::Acquire)).filter(|status| *status != 0)
    }

    /// Returns true while the thread runs the shim's own work, which is not reported to agents.
    pub fn is_internal(&self) -> bool {
        self.is_hidden() || self.own_work.is_under_way()
    }

    /// Runs `work`, which is the shim's own: nothing that the thread does meanwhile is reported to agents.
    pub fn internally<R>(&self, work: impl FnOnce() -> R) -> R {
        self.own_work.depth.fetch_add(1, Ordering::Relaxed);
        self.short_cut.forbid();
        let _after = OnDrop(|| {
            self.own_work.depth.fetch_sub(1, Ordering::Relaxed);
        });
        work()
    }

    /// Records that a virtual thread is being mounted or unmounted, or has been.
    pub fn note_transition(&self, begins: bool) {
        self.transition.note(begins);
        if !virtual_thread::are_threads() {
            self.in_flight.calls.set_aside();
        }
        // An exception has ended the constructors that are still deferred.
        self.held.take();
        self.short_cut.forbid();
    }

    /// Records that a virtual thread that has waited for a monitor is about to be mounted, or that a virtual
    /// thread runs again. After such a wait the VM does not report the end of the mount (JDK 24 and later).
    pub fn note_resumption(&self, begins: bool) {
        if self.transition.note_resumption(begins) {
            self.note_transition(false);
        }
    }

    /// Returns the agent's thread-local storage; NULL until it is set.
    pub fn local_storage(&self, agent: &Agent) -> *mut c_void {
        self.local_storage[agent.index].load(Ordering::Acquire)
    }

    pub fn set_local_storage(&self, agent: &Agent, value: *mut c_void) {
        self.local_storage[agent.index].store(value, Ordering::Release);
    }
}

thread_local! {
    /// Keeps the record of the current thread, to which [`thread_local_word`] points.
    static OWNER: Owner = const { Owner(RefCell::new(None)) };
}

struct Owner(RefCell<Option<Arc<Thread>>>);

impl Owner {
    fn set(&self, thread: Option<Arc<Thread>>) {
        thread_local_word::set(thread.as_ref().map_or(ptr::null(), Arc::as_ptr));
        self.0.replace(thread);
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        thread_local_word::set(ptr::null::<Thread>());
    }
}

/// The record of the current thread. It cannot be sent to another thread.
pub struct Current(*const Thread);

impl Current {
    /// Wraps the record, which must be that of the current thread and owned by it.
    pub fn of(thread: &Arc<Thread>) -> Self {
        Self(Arc::as_ptr(thread))
    }
}

impl Deref for Current {
    type Target = Thread;

    #[inline]
    fn deref(&self) -> &Thread {
        // SAFETY: `OWNER` of this thread, or the registry in its place, keeps the record until it is replaced. That
        // happens when an ended thread is attached again. It also happens when a virtual thread is mounted or
        // unmounted; then the registry keeps its record, until it has ended, and the carrier's.
        unsafe { &*self.0 }
    }
}

/// Returns the record of the current thread, if it has run code of the shim before. May be called in a signal
/// handler: the shim signals only threads that have used this storage before, so the call does not allocate it.
#[inline]
pub fn known_current() -> Option<Current> {
    let thread = thread_local_word::get::<Thread>();
    (!thread.is_null()).then_some(Current(thread))
}

/// Makes this the record of the current thread. Returns it if the thread cannot keep it: in a destructor of a
/// `pthread_key` the thread-local storage is gone.
pub fn own(thread: Option<Arc<Thread>>) -> Option<Arc<Thread>> {
    let mut thread = Some(thread);
    let _ = OWNER.try_with(|owner| owner.set(thread.take().flatten()));
    thread.flatten()
}

/// The state of a thread that delivers GC events, or in whose name another one does.
pub struct StandIn {
    /// On a hidden thread, the environment that events for agents name.
    env: AtomicPtr<JNIEnv>,
    /// The time that the thread's clock shows to the agent that gets the GC events, else [`NO_TIME`].
    clock: AtomicI64,
    /// The nanoseconds of the collections that were delivered in the thread's name, by agent.
    collections: [AtomicI64; MAX_AGENTS],
}

/// A value that no clock shows.
const NO_TIME: i64 = i64::MIN;

impl Default for StandIn {
    fn default() -> Self {
        Self {
            env: AtomicPtr::new(ptr::null_mut()),
            clock: AtomicI64::new(NO_TIME),
            collections: Default::default(),
        }
    }
}

impl StandIn {
    /// Runs `work` while the thread stands for the thread with this environment, whose clock shows this time.
    pub fn standing_for<R>(
        &self,
        env: *mut JNIEnv,
        time: Option<i64>,
        work: impl FnOnce() -> R,
    ) -> R {
        let outer = self.env.swap(env, Ordering::Relaxed);
        let outer_time = self.clock.swap(time.unwrap_or(NO_TIME), Ordering::Relaxed);
        let _after = OnDrop(|| {
            self.env.store(outer, Ordering::Relaxed);
            self.clock.store(outer_time, Ordering::Relaxed);
        });
        work()
    }

    /// Returns the environment of the thread for which it stands, NULL if there is none.
    pub fn env(&self) -> *mut JNIEnv {
        self.env.load(Ordering::Relaxed)
    }

    /// Returns the time of the clock while the thread delivers GC events to an agent.
    pub fn clock(&self) -> Option<i64> {
        Some(self.clock.load(Ordering::Relaxed)).filter(|time| *time != NO_TIME)
    }

    /// Returns the nanoseconds of the collections that the agent has got in the thread's name.
    pub fn time_of_collections(&self, agent: &Agent) -> i64 {
        self.collections[agent.index].load(Ordering::Relaxed)
    }

    /// Adds the nanoseconds of a collection that the agent gets in the thread's name.
    pub fn add_collection(&self, agent: &Agent, nanos: i64) {
        self.collections[agent.index].fetch_add(nanos, Ordering::Relaxed);
    }
}

/// The nesting depth of the shim's own work on a thread.
#[derive(Default)]
pub struct OwnWork {
    depth: AtomicU32,
    needs_no_ids: AtomicBool,
}

impl OwnWork {
    fn is_under_way(&self) -> bool {
        self.depth.load(Ordering::Relaxed) > 0
    }

    /// Runs `work`, whose objects do not outlive it and so need no IDs.
    pub fn without_ids<R>(&self, work: impl FnOnce() -> R) -> R {
        let outer = self.needs_no_ids.swap(true, Ordering::Relaxed);
        let _after = OnDrop(|| self.needs_no_ids.store(outer, Ordering::Relaxed));
        work()
    }

    /// Returns true if the objects that the thread allocates now need no IDs.
    pub fn needs_no_ids(&self) -> bool {
        self.needs_no_ids.load(Ordering::Relaxed)
    }
}
