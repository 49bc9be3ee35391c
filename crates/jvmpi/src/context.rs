//! The mode in which a thread runs the agent's code, and the functions that the mode permits.

use crate::{ClassId, Frame, Frames, Jvmpi, MethodId, ObjectId, ThreadId};
use jni_sys::{JNIEnv, jobject};
use jvmpi_sys::{JVMPI_CallTrace, Mode as SpecifiedMode};
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// The modes as types, and the traits that group them.
pub mod mode {
    use super::SpecifiedMode;

    /// Multithreaded, GC enabled. Everything is permitted except functions that need IDs to stay valid.
    #[derive(Debug)]
    pub enum MultiThreaded {}

    /// Multithreaded, GC disabled: IDs stay valid and do not change. Locks need a consistent order; garbage
    /// collections and new threads are forbidden.
    #[derive(Debug)]
    pub enum GcDisabled {}

    /// Threads are suspended, or a collection is in progress: no memory allocation, no I/O, no locks.
    #[derive(Debug)]
    pub enum Stopped {}

    /// `JVM_OnLoad` is running.
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
        /// The mode's name in `jvmpi_sys`.
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
        /// Prevents other crates from adding modes.
        pub trait Sealed {}
        impl Sealed for super::MultiThreaded {}
        impl Sealed for super::GcDisabled {}
        impl Sealed for super::Stopped {}
        impl Sealed for super::OnLoad {}
    }
}

use mode::{Loaded, MayLock, Mode};

/// The current thread, in a mode of the specification. `Context<M>` has the functions that mode `M` permits.
/// The method for an event gets a context of the event's mode.
///
/// It dereferences to [`Jvmpi`], whose functions may be called in every mode.
///
/// Calls that a mode forbids do not compile. No collection may be run while GC is disabled:
///
/// ```compile_fail,E0599
/// # use jvmpi::*;
/// fn object_alloc(jvmpi: &mut GcDisabled<'_>) {
///     jvmpi.run_gc();
/// }
/// ```
///
/// The same holds where the agent itself has disabled GC, until it drops the guard:
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
/// The events of a collection permit no locks:
///
/// ```compile_fail,E0277
/// # use jvmpi::*;
/// fn object_free(jvmpi: &mut Stopped<'_>, objects: &RawMonitor<Vec<ObjectId>>) {
///     objects.enter(jvmpi);
/// }
/// ```
///
/// Neither do they while the agent has suspended threads, even through the context from before:
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
/// A context stays on its thread and does not outlive the event:
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
    /// Makes the type neither `Send` nor `Sync`, as it stands for the current thread.
    mode: PhantomData<(&'e (), *mut M)>,
}

/// The current thread, where everything is permitted except functions that need IDs to stay valid.
pub type MultiThreaded<'e> = Context<'e, mode::MultiThreaded>;
/// The current thread while GC is disabled: in an event that carries an ID, or under a [`GcOff`].
pub type GcDisabled<'e> = Context<'e, mode::GcDisabled>;
/// The current thread in an event of a collection, or while it has [`Suspended`](crate::Suspended) others.
pub type Stopped<'e> = Context<'e, mode::Stopped>;

impl<'e, M: Mode> Context<'e, M> {
    /// # Safety
    /// The current thread is in mode `M` for `'e`. If `is_current`, `env` belongs to the current thread,
    /// and the thread does not end before `'e` does.
    #[inline]
    pub(crate) unsafe fn new(jvmpi: Jvmpi, env: *mut JNIEnv, is_current: bool) -> Self {
        Self { jvmpi, env, is_current, mode: PhantomData }
    }

    /// Returns a context of the same thread in another mode.
    ///
    /// # Safety
    /// The thread is in mode `N` for as long as the result is used.
    pub(crate) unsafe fn in_mode<N: Mode>(&self) -> Context<'e, N> {
        Context { jvmpi: self.jvmpi, env: self.env, is_current: self.is_current, mode: PhantomData }
    }

    /// Returns the functions of the VM that may be called in every mode.
    #[inline]
    pub fn jvmpi(&self) -> Jvmpi {
        self.jvmpi
    }

    /// Returns the environment of the current thread, or `None` if `env` is unknown or another thread's.
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

/// Functions for every event.
impl<M: Loaded> Context<'_, M> {
    /// Returns the `env_id` of the event: the thread on which the event happened. In the events of a collection
    /// it is some live thread, not the current one.
    ///
    /// # Panics
    /// Panics if the VM sent the event without an `env_id`.
    #[inline]
    pub fn thread(&self) -> ThreadId {
        ThreadId::of(self.env).expect("the VM sent an event without a thread")
    }

    /// GetCallTrace: returns the innermost frames of a thread, callee before caller, as many as fit in `frames`.
    ///
    /// The thread should be the current one, or suspended, or one for which
    /// [`thread_has_run`](Context::thread_has_run) was just called. The result is empty if there is no such thread.
    pub fn call_trace<'f>(&self, thread: ThreadId, frames: &'f mut Frames) -> &'f [Frame] {
        let room = frames.room();
        let mut trace = JVMPI_CallTrace { env_id: thread.as_ptr(), num_frames: 0, frames: room.0 };
        // SAFETY: `trace.frames` points to `room.1` frames.
        unsafe { (self.table().GetCallTrace)(&mut trace, room.1) };
        frames.filled(trace.num_frames)
    }
}

/// Functions where locks may be taken.
impl<'e, M: MayLock> Context<'e, M> {
    /// DisableGC: keeps objects from dying and moving until the guard is dropped. Calls nest.
    pub fn disable_gc(&mut self) -> GcOff<'_, 'e> {
        // SAFETY: this mode permits the call; dropping `GcOff` enables GC again.
        unsafe { (self.table().DisableGC)() };
        // SAFETY: GC is disabled until `GcOff` is dropped, and `GcOff` borrows `self` until then.
        GcOff { context: unsafe { self.in_mode() }, outer: PhantomData }
    }
}

impl MultiThreaded<'_> {
    /// RunGC: runs a full collection. Its events are sent before the function returns.
    pub fn run_gc(&mut self) {
        // SAFETY: this mode permits the call.
        unsafe { (self.table().RunGC)() };
    }
}

impl GcDisabled<'_> {
    /// GetThreadObject: returns the Thread object of a thread.
    pub fn thread_object(&self, thread: ThreadId) -> Option<ObjectId> {
        // SAFETY: this mode permits the call; an invalid thread yields NULL.
        ObjectId::of(unsafe { (self.table().GetThreadObject)(thread.as_ptr()) })
    }

    /// GetMethodClass: returns the class that declares a method.
    #[inline]
    pub fn method_class(&self, method: MethodId) -> Option<ClassId> {
        // SAFETY: this mode permits the call, and the ID comes from the VM.
        ClassId::of(unsafe { (self.table().GetMethodClass)(method.as_ptr()) })
    }

    /// jobjectID2jobject: creates a local reference to an object for the current thread. Returns NULL if the
    /// object is gone, or the VM only has version 1 of JVMPI.
    pub fn jobject(&self, object: ObjectId) -> jobject {
        let Some(convert) = self.table().jobjectID2jobject else { return std::ptr::null_mut() };
        // SAFETY: this mode permits the call; an invalid ID yields NULL.
        unsafe { convert(object.as_ptr()) }
    }

    /// jobject2jobjectID: returns the object that a reference refers to, or `None` for NULL.
    ///
    /// # Safety
    /// `reference` is NULL or a reference that the current thread may use.
    pub unsafe fn object(&self, reference: jobject) -> Option<ObjectId> {
        let convert = self.table().jobject2jobjectID?;
        // SAFETY: as the caller promises.
        ObjectId::of(unsafe { convert(reference) })
    }
}

/// A guard that keeps GC disabled until it is dropped. It dereferences to the context for that time.
#[derive(Debug)]
#[must_use = "GC is enabled again when this is dropped"]
pub struct GcOff<'a, 'e> {
    context: GcDisabled<'e>,
    /// Borrows the context from before, which must not be used meanwhile.
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
        // SAFETY: `disable_gc` called DisableGC once for this guard.
        unsafe { (self.context.table().EnableGC)() };
    }
}
