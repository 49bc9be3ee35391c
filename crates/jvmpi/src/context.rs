//! In which mode a thread runs the agent's code, and what it may do there.

use crate::{ClassId, Frame, Frames, Jvmpi, MethodId, ObjectId, ThreadId, ThreadStatus};
use jni_sys::{JNIEnv, jobject};
use jvmpi_sys::{JVMPI_CallTrace, Mode as SpecifiedMode};
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// The modes as types, and what they have in common.
pub mod mode {
    use super::SpecifiedMode;

    /// Multithreaded, GC enabled. Everything is allowed but what needs IDs to stay valid.
    #[derive(Debug)]
    pub enum MultiThreaded {}

    /// Multithreaded, GC disabled: IDs stay valid and do not change. Locks only with a consistent
    /// order; no garbage collection, no new threads.
    #[derive(Debug)]
    pub enum GcDisabled {}

    /// Threads are suspended, or a collection runs: no allocation of memory, no I/O, no locks.
    #[derive(Debug)]
    pub enum Stopped {}

    /// In `JVM_OnLoad`.
    #[derive(Debug)]
    pub enum OnLoad {}

    /// A mode.
    pub trait Mode: sealed::Sealed {}

    /// The agent may take locks and allocate memory: all modes but [`Stopped`].
    #[diagnostic::on_unimplemented(
        message = "this may not be done in the mode `{Self}`",
        note = "while threads are suspended, and from GC_START to GC_FINISH, an agent takes no locks and allocates no memory: a thread that is stopped may hold the lock"
    )]
    pub trait MayLock: Mode {}

    /// The agent is loaded: all modes but [`OnLoad`].
    pub trait Loaded: Mode {
        /// As `jvmpi_sys` calls it.
        const SPECIFIED: SpecifiedMode;
    }

    impl Mode for MultiThreaded {}
    impl Mode for GcDisabled {}
    impl Mode for Stopped {}
    impl Mode for OnLoad {}
    impl MayLock for MultiThreaded {}
    impl MayLock for GcDisabled {}
    impl MayLock for OnLoad {}
    impl Loaded for MultiThreaded {
        const SPECIFIED: SpecifiedMode = SpecifiedMode::MT;
    }
    impl Loaded for GcDisabled {
        const SPECIFIED: SpecifiedMode = SpecifiedMode::GC_OFF;
    }
    impl Loaded for Stopped {
        const SPECIFIED: SpecifiedMode = SpecifiedMode::STOPPED;
    }

    mod sealed {
        /// There are no other modes.
        pub trait Sealed {}
        impl Sealed for super::MultiThreaded {}
        impl Sealed for super::GcDisabled {}
        impl Sealed for super::Stopped {}
        impl Sealed for super::OnLoad {}
    }
}

use mode::{Loaded, MayLock, Mode};

/// The current thread, in a mode of the specification: what may be done in the mode `M` are functions
/// of `Context<M>`. An event's handler is given that of the event.
///
/// It dereferences to [`Jvmpi`], whose functions may be called in every mode.
///
/// What is forbidden in a mode does not compile. No collection while GC is disabled:
///
/// ```compile_fail,E0599
/// # use jvmpi::*;
/// fn object_alloc(jvmpi: &mut GcDisabled<'_>) {
///     jvmpi.run_gc();
/// }
/// ```
///
/// nor where the agent itself has disabled it; that is over when the guard is dropped:
///
/// ```compile_fail,E0499
/// # use jvmpi::*;
/// fn data_dump_request(jvmpi: &mut MultiThreaded<'_>) {
///     let gc_off = jvmpi.disable_gc();
///     jvmpi.run_gc();
///     drop(gc_off);
/// }
/// ```
/// ```
/// # use jvmpi::*;
/// fn data_dump_request(jvmpi: &mut MultiThreaded<'_>) {
///     let gc_off = jvmpi.disable_gc();
///     drop(gc_off);
///     jvmpi.run_gc();
/// }
/// ```
///
/// No locks in the events of a collection:
///
/// ```compile_fail,E0277
/// # use jvmpi::*;
/// fn object_free(jvmpi: &mut Stopped<'_>, objects: &RawMonitor<Vec<ObjectId>>) {
///     objects.enter(jvmpi);
/// }
/// ```
///
/// nor while the agent has suspended threads, though the context from before is still there:
///
/// ```compile_fail,E0502
/// # use jvmpi::*;
/// fn sample(gc_off: &mut GcDisabled<'_>, threads: &mut ThreadList, counts: &RawMonitor<u32>) {
///     let stopped = gc_off.suspend(threads);
///     counts.enter(gc_off);
///     drop(stopped);
/// }
/// ```
///
/// An ID stays valid only while GC is disabled:
///
/// ```compile_fail,E0599
/// # use jvmpi::*;
/// fn method_entry(jvmpi: &mut MultiThreaded<'_>, method: MethodId) {
///     jvmpi.method_class(method);
/// }
/// ```
/// ```
/// # use jvmpi::*;
/// fn method_entry(jvmpi: &mut MultiThreaded<'_>, method: MethodId) {
///     jvmpi.disable_gc().method_class(method);
/// }
/// ```
///
/// And a context stays on its thread, and does not outlive the event:
///
/// ```compile_fail,E0277
/// # use jvmpi::*;
/// fn jvm_init_done(jvmpi: &mut MultiThreaded<'_>) {
///     std::thread::scope(|threads| threads.spawn(|| jvmpi.run_gc()));
/// }
/// ```
pub struct Context<'e, M> {
    jvmpi: Jvmpi,
    env: *mut JNIEnv,
    is_current: bool,
    /// Neither `Send` nor `Sync`: it is about the current thread.
    mode: PhantomData<(&'e (), *mut M)>,
}

/// The current thread, where everything is allowed but what needs IDs to stay valid.
pub type MultiThreaded<'e> = Context<'e, mode::MultiThreaded>;
/// The current thread, while GC is disabled: in an event that carries an ID, or by a [`GcOff`].
pub type GcDisabled<'e> = Context<'e, mode::GcDisabled>;
/// The current thread, in an event of a collection or while it has [`Suspended`](crate::Suspended) others.
pub type Stopped<'e> = Context<'e, mode::Stopped>;

impl<'e, M: Mode> Context<'e, M> {
    /// # Safety
    /// The current thread is in this mode for as long as `'e`; if `is_current`, `env` is its own,
    /// and the thread does not end before.
    #[inline]
    pub(crate) unsafe fn new(jvmpi: Jvmpi, env: *mut JNIEnv, is_current: bool) -> Self {
        Self { jvmpi, env, is_current, mode: PhantomData }
    }

    /// The same thread in another mode.
    ///
    /// # Safety
    /// It is in that mode for as long as the result is used.
    pub(crate) unsafe fn in_mode<N: Mode>(&self) -> Context<'e, N> {
        Context { jvmpi: self.jvmpi, env: self.env, is_current: self.is_current, mode: PhantomData }
    }

    /// The VM's functions that may be called in every mode.
    #[inline]
    pub fn jvmpi(&self) -> Jvmpi {
        self.jvmpi
    }

    /// The environment of the current thread; None if that is another's or not known.
    pub(crate) fn current(&self) -> Option<*mut JNIEnv> {
        Some(self.env).filter(|env| self.is_current && !env.is_null())
    }
}

impl<M: Mode> Deref for Context<'_, M> {
    type Target = Jvmpi;

    #[inline]
    fn deref(&self) -> &Jvmpi {
        &self.jvmpi
    }
}

impl<M> fmt::Debug for Context<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("thread", &ThreadId::of(self.env)).finish_non_exhaustive()
    }
}

/// In every event.
impl<M: Loaded> Context<'_, M> {
    /// `env_id` of the event: the thread on which it happened. In the events of a collection it is some
    /// live thread, not the current one.
    ///
    /// # Panics
    /// If the VM has sent the event without one.
    #[inline]
    pub fn thread(&self) -> ThreadId {
        ThreadId::of(self.env).expect("the VM has sent the event of no thread")
    }

    /// GetCallTrace: the innermost frames of a thread, the callee before its caller, as many as there
    /// is room for. The thread is the current one, or should be suspended, or was just asked
    /// [whether it has run](Context::thread_has_run). None if there is no such thread.
    pub fn call_trace<'f>(&self, thread: ThreadId, frames: &'f mut Frames) -> &'f [Frame] {
        let room = frames.room();
        let mut trace = JVMPI_CallTrace { env_id: thread.as_ptr(), num_frames: 0, frames: room.0 };
        // SAFETY: there is room for that many frames.
        unsafe { (self.table().GetCallTrace)(&mut trace, room.1) };
        frames.filled(trace.num_frames)
    }

    /// GetThreadStatus; None if there is no such thread.
    pub fn thread_status(&self, thread: ThreadId) -> Option<ThreadStatus> {
        // SAFETY: bad threads do nothing.
        ThreadStatus::of(unsafe { (self.table().GetThreadStatus)(thread.as_ptr()) })
    }
}

/// Where locks may be taken.
impl<'e, M: MayLock> Context<'e, M> {
    /// DisableGC: until the guard is dropped, no object dies or moves. It nests.
    pub fn disable_gc(&mut self) -> GcOff<'_, 'e> {
        // SAFETY: may be called in this mode; `GcOff` enables it again.
        unsafe { (self.table().DisableGC)() };
        // SAFETY: that is the mode until `GcOff` is dropped, which keeps `self` from being used.
        GcOff { context: unsafe { self.in_mode() }, outer: PhantomData }
    }
}

impl MultiThreaded<'_> {
    /// RunGC: a full collection. Its events are sent before this returns.
    pub fn run_gc(&mut self) {
        // SAFETY: may be called in this mode.
        unsafe { (self.table().RunGC)() };
    }
}

impl GcDisabled<'_> {
    /// GetThreadObject: the Thread object of a thread.
    pub fn thread_object(&self, thread: ThreadId) -> Option<ObjectId> {
        // SAFETY: may be called in this mode; bad threads give NULL.
        ObjectId::of(unsafe { (self.table().GetThreadObject)(thread.as_ptr()) })
    }

    /// GetMethodClass: the class that declares a method.
    #[inline]
    pub fn method_class(&self, method: MethodId) -> Option<ClassId> {
        // SAFETY: may be called in this mode. The ID is one that the VM has told.
        ClassId::of(unsafe { (self.table().GetMethodClass)(method.as_ptr()) })
    }

    /// jobjectID2jobject: a new local reference of the current thread; NULL if the object is gone, or
    /// the VM has JVMPI 1.0.
    pub fn jobject(&self, object: ObjectId) -> jobject {
        let Some(convert) = self.table().jobjectID2jobject else { return std::ptr::null_mut() };
        // SAFETY: may be called in this mode; bad IDs give NULL.
        unsafe { convert(object.as_ptr()) }
    }

    /// jobject2jobjectID: the object that is referred to; None for NULL.
    ///
    /// # Safety
    /// The reference is one that the current thread may use, or NULL.
    pub unsafe fn object(&self, reference: jobject) -> Option<ObjectId> {
        let convert = self.table().jobject2jobjectID?;
        // SAFETY: as the caller promises.
        ObjectId::of(unsafe { convert(reference) })
    }
}

/// Keeps GC disabled until it is dropped; in between, it is the context.
#[derive(Debug)]
#[must_use = "GC is enabled again when this is dropped"]
pub struct GcOff<'a, 'e> {
    context: GcDisabled<'e>,
    /// The context from before, which must not be used meanwhile.
    outer: PhantomData<&'a mut ()>,
}

impl<'e> Deref for GcOff<'_, 'e> {
    type Target = GcDisabled<'e>;

    fn deref(&self) -> &GcDisabled<'e> {
        &self.context
    }
}

impl DerefMut for GcOff<'_, '_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.context
    }
}

impl Drop for GcOff<'_, '_> {
    fn drop(&mut self) {
        // SAFETY: it was disabled once for this.
        unsafe { (self.context.table().EnableGC)() };
    }
}
